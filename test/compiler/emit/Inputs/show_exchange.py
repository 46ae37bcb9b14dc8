"""Prints the exchange texts of a plan (config, tokenizer, ...), a line each."""

import json
import sys

plan = json.load(open(sys.argv[1]))
exchange = plan["exchange"]
print("weights", exchange["weights"])
print("hf", exchange["hf"])
print("tokenizer", plan["data"]["tokenizer"])
for name in ("config", "generation_config", "adapter_config"):
    text = exchange[name]
    first, *rest = name.split("_")
    print(first + "".join(word.title() for word in rest),
          json.dumps(json.loads(text)) if text else "none")
generation = plan["generation"]
if generation:
    inner = json.loads(generation)
    print("generation", inner["task"],
          *(bucket["tokens"] for bucket in inner["serving"]["buckets"]))
else:
    print("generation none")
