"""RapidOCR: PaddleOCR's models on onnxruntime, from weights that lie in its own package. Never downloads."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tasks.parse.ocr_geometry import Reading, Recognized

_MODELS = {"Det": "*_det_*.onnx", "Cls": "*_cls_*.onnx", "Rec": "*_rec_*.onnx"}
_LONGEST_SIDE = 2000
_TALL = 1.5
_SAMPLE = 9


def read_image(image: Image.Image, least_confidence: float) -> Reading:
    """The lines of an image (mode RGB), after turning it upright.

    A page on its side has tall boxes. Which way up the lines stand is what the model for single lines says about the
    longest ones.
    """
    found = _recognize(image, least_confidence)
    turn = _turn(image, found)
    if turn:
        # Read again: only in an upright image is a line's box as long as its text.
        image = image.rotate(-turn, expand=True)
        found = _recognize(image, least_confidence)
    return Reading([_line(quad, text, score) for quad, text, score in found], turn)


def _recognize(image: Image.Image, least_confidence: float) -> list[tuple[Any, str, float]]:
    result = _engine()(
        np.asarray(image)[:, :, ::-1], use_det=True, use_cls=True, use_rec=True, text_score=least_confidence
    )
    if not result.txts:
        return []
    return list(zip(result.boxes, result.txts, result.scores, strict=True))


@cache
def _engine() -> Any:
    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    models = {part: sorted(folder.glob(pattern)) for part, pattern in _MODELS.items()}
    # Files that are named are taken as they are: those that are not would be looked for, and fetched if they differ.
    paths = {f"{part}.model_path": str(files[0]) for part, files in models.items() if files}
    if len(paths) < len(_MODELS):
        raise FileNotFoundError("rapidocr has no weights in its package")
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return rapidocr.RapidOCR(
        params={"Global.log_level": "critical", "Global.max_side_len": _LONGEST_SIDE} | threads | paths
    )


def _line(quad: Any, text: str, score: float) -> Recognized:
    """A line from the four corners of its box: top left, top right, bottom right, bottom left as the text runs."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = ((float(x), float(y)) for x, y in quad)
    length = (math.hypot(bx - ax, by - ay) + math.hypot(cx - dx, cy - dy)) / 2
    height = (math.hypot(dx - ax, dy - ay) + math.hypot(cx - bx, cy - by)) / 2
    angle = math.degrees(math.atan2((by - ay) + (cy - dy), (bx - ax) + (cx - dx)))
    middle = (ax + bx + cx + dx) / 4, (ay + by + cy + dy) / 4
    return Recognized(text, float(score), *middle, length, height, angle)


def _turn(image: Image.Image, found: Sequence[tuple[Any, str, float]]) -> int:
    """By how many degrees clockwise the image must be turned: 0, 90, 180 or 270."""
    boxes = [
        (float(quad[:, 0].min()), float(quad[:, 1].min()), float(quad[:, 0].max()), float(quad[:, 1].max()))
        for quad, text, _ in found
        if len(text) >= 4
    ]
    boxes = sorted(boxes, key=lambda box: -max(box[2] - box[0], box[3] - box[1]))[:_SAMPLE]
    if not boxes:
        return 0
    tall = sum(box[3] - box[1] > _TALL * (box[2] - box[0]) for box in boxes) > len(boxes) / 2
    quarter = 90 if tall else 0
    votes: Counter[str] = Counter()
    for box in boxes:
        if (box[3] - box[1] > _TALL * (box[2] - box[0])) == tall:
            strip = image.crop(box).rotate(-quarter, expand=True)
            answer = _engine()(np.asarray(strip)[:, :, ::-1], use_det=False, use_cls=True, use_rec=False)
            votes[answer.cls_res[0][0]] += 1
    return quarter + (180 if votes["180"] > votes["0"] else 0)
