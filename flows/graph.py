"""The graph, declared once as data: the flow, the report, the docs and `corpusgate graph` read it from here."""

from dataclasses import dataclass

from schemas.names import StageName
from tasks.run.registry import STAGES


@dataclass(frozen=True, slots=True)
class Segment:
    """Stages between two barriers; a sub-flow named after them, in which batches flow independently.

    One that is `alone` begins once the evaluators before it are through: each takes memory that grows with the number
    of documents, and the building of the index does too.
    """

    stages: tuple[StageName, ...]
    barrier: bool = False
    alone: bool = False

    @property
    def name(self) -> str:
        """The sub-flow's name."""
        return " · ".join(self.stages)


SEGMENTS: tuple[Segment, ...] = (
    Segment((StageName.FETCH, StageName.PARSE, StageName.BOILERPLATE, StageName.NORMALIZE, StageName.LANGUAGE)),
    Segment((StageName.DEDUP,), barrier=True),
    Segment((StageName.PII, StageName.CHUNK, StageName.METADATA, StageName.EMBED)),
    Segment((StageName.INDEX,), barrier=True, alone=True),
)


def evaluated_after(segment: Segment) -> tuple[StageName, ...]:
    """The stages whose evaluators run once a segment is through: its own, less those that need the built index; the
    last segment, which builds it, brings those too."""
    if segment is SEGMENTS[-1]:
        return tuple(name for name, stage in STAGES.items() if stage.reads_index or name in segment.stages)
    return tuple(name for name in segment.stages if not STAGES[name].reads_index)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the run graph and the nodes it waits for."""

    name: str
    after: tuple[str, ...]


def nodes() -> tuple[Node, ...]:
    """Every node of a run in an order in which it can be executed: plan, segments, evaluators, gate, promote."""
    made = [Node("plan", ())]
    before = "plan"
    evaluators: list[str] = []
    for segment in SEGMENTS:
        made.append(Node(segment.name, (before, *(evaluators if segment.alone else ()))))
        before = segment.name
        after = [Node(f"evaluate {stage}", (segment.name,)) for stage in evaluated_after(segment)]
        evaluators += [node.name for node in after]
        made += after
    made += [Node("gate", tuple(evaluators)), Node("promote", ("gate",))]
    return tuple(made)


def mermaid() -> str:
    """The graph as a Mermaid flowchart."""
    names = {node.name: f"n{i}" for i, node in enumerate(nodes())}
    lines = ["flowchart LR"]
    lines += [f'    {names[node.name]}["{node.name}"]' for node in nodes()]
    lines += [f"    {names[before]} --> {names[node.name]}" for node in nodes() for before in node.after]
    return "\n".join(lines)
