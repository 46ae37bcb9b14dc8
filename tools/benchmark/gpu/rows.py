"""The rows of the table: the training, the program it is compared with, and the
goal. A row has the name of its recipe."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    recipe: str
    work: str
    gpus: int = 1
    goal: float = 0  # tokens/s a GPU
    # Or a minimum share of the MFU of the row `base`.
    base: str = ""
    share: float = 0
    # Arguments of train_peer.py for the same work.
    peer: tuple = ()
    # Published tokens/s of other programs, or the ones measured in h200.md.
    published: str = ""
    # The row that this one replaces when there are fewer GPUs.
    instead: str = ""
    file: str = "llama.recipe"
    # The script in this folder that writes the training data.
    data: str = ""


def words(text):
    return tuple(text.split())


LLMQ_1B = "llmq 64,000"
LORA = words("--model 8b --mode lora --mbs 2")
SPREAD = words("--model 8b --seq 8192 --mbs 1 --ga 4")

ROWS = [
    Row("full_1b", "1B full bf16, sequence 4096, micro 4", goal=68000,
        peer=words("--model 1b --mbs 4"), published=LLMQ_1B),
    Row("full_1b_fp8", "1B full fp8, the same"),
    Row("lora_8b", "8B LoRA r32 bf16, sequence 4096, micro 2", goal=17500,
        peer=LORA, published="NeMo 17,809 (8 H100)"),
    Row("lora_8b_fp8", "8B LoRA r32 fp8, the same", goal=24500,
        published="NeMo 24,094 (8 H100)"),
    Row("full_8b", "8B full bf16, sequence 4096, micro 2", goal=12900,
        peer=words("--model 8b --mbs 1 --ga 8"),
        published="llmq 12,050; 13,860 (7B, H100, sequence 1024)"),
    Row("full_8b_fp8", "8B full fp8, the same"),
    Row("full_8b_dp4", "8B full bf16, sequence 8192, micro 1, dp 4", 4,
        goal=11500, peer=SPREAD, published="llmq 10,842; NeMo 10,682 (8 H100)"),
    Row("full_8b_dp4_fp8", "8B full fp8, the same", 4, goal=15200,
        published="NeMo 14,451 (8 H100); torchtitan 10,938"),
    Row("sft_8b_packed_dp4", "8B SFT bf16, packed 4096, dp 4", 4, goal=12800,
        published="NeMo 12,412", data="instructions"),
    Row("sft_8b_packed_dp4_fp8", "8B SFT fp8, the same", 4, goal=17800,
        published="NeMo 17,246", data="instructions"),
    Row("full_8b_fsdp4", "the 8B bf16, FSDP 4", 4, base="full_8b_dp4",
        share=0.9),
    Row("full_8b_tp2_dp2", "tp 2, dp 2", 4, base="full_8b_dp4", share=0.9),
    Row("full_8b_tp4", "tp 4", 4, base="full_8b_dp4", share=0.8),
    Row("full_8b_pp2_dp2", "pp 2, vp 4, dp 2", 4, base="full_8b_dp4",
        share=0.9),
    Row("full_8b_cp2_dp2", "cp 2, dp 2", 4, base="full_8b_dp4", share=0.9),
    Row("moe_dense_dp4", "dense, of the experts' active size, dp 4", 4,
        file="moe.recipe"),
    Row("moe_ep4", "Mixtral-shaped experts, ep 4", 4, base="moe_dense_dp4",
        share=0.75, file="moe.recipe"),

    Row("full_8b_dp2", "8B full bf16, sequence 8192, micro 1, dp 2", 2,
        goal=11500, peer=SPREAD, instead="full_8b_dp4",
        published="llmq 10,842 (4 H200); NeMo 10,682 (8 H100)"),
    Row("full_8b_dp2_fp8", "8B full fp8, the same", 2, goal=15200,
        instead="full_8b_dp4_fp8",
        published="NeMo 14,451 (8 H100); torchtitan 10,938"),
    Row("sft_8b_packed_dp2", "8B SFT bf16, packed 4096, dp 2", 2, goal=12800,
        instead="sft_8b_packed_dp4", published="NeMo 12,412",
        data="instructions"),
    Row("sft_8b_packed_dp2_fp8", "8B SFT fp8, the same", 2, goal=17800,
        instead="sft_8b_packed_dp4_fp8", published="NeMo 17,246",
        data="instructions"),
    Row("full_8b_fsdp2", "the 8B bf16, FSDP 2", 2, base="full_8b_dp2",
        share=0.9, instead="full_8b_fsdp4"),
    Row("full_8b_tp2", "tp 2", 2, base="full_8b_dp2", share=0.9,
        instead="full_8b_tp2_dp2"),
    Row("full_8b_pp2", "pp 2, vp 4", 2, base="full_8b_dp2", share=0.9,
        instead="full_8b_pp2_dp2"),
    Row("full_8b_cp2", "cp 2", 2, base="full_8b_dp2", share=0.9,
        instead="full_8b_cp2_dp2"),
    Row("moe_dense_dp2", "dense, of the experts' active size, dp 2", 2,
        instead="moe_dense_dp4", file="moe.recipe"),
    Row("moe_ep2", "Mixtral-shaped experts, ep 2", 2, base="moe_dense_dp2",
        share=0.75, instead="moe_ep4", file="moe.recipe"),

    Row("sft_8b_packed", "8B SFT bf16, packed 4096, micro 2", goal=12800,
        instead="sft_8b_packed_dp2", published="NeMo 12,412",
        data="instructions"),
    Row("sft_8b_packed_fp8", "8B SFT fp8, the same", goal=17800,
        instead="sft_8b_packed_dp2_fp8", published="NeMo 17,246",
        data="instructions"),
    Row("moe_dense", "dense, of the experts' active size",
        instead="moe_dense_dp2", file="moe.recipe"),
    Row("moe", "Mixtral-shaped experts", base="moe_dense", share=0.75,
        instead="moe_ep2", file="moe.recipe"),
]
BY_NAME = {row.recipe: row for row in ROWS}


def usual(gpus):
    """The rows that fit on `gpus` GPUs."""
    fits = {row.recipe for row in ROWS if row.gpus <= gpus}
    return [row for row in ROWS
            if row.recipe in fits and row.instead not in fits]
