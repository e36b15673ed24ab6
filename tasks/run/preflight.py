"""What can be known to be wrong before a run: found out in seconds here, not at the gate after hours of work."""

from tasks.embedding.endpoint import api_key
from tasks.embedding.models import embedding_model
from tasks.fetch.folders import existing_root
from tasks.fetch.sources import FolderSource
from tasks.figures.catalogue import load_catalogue
from tasks.gate.judge import resolve_anchor
from tasks.gate.rules import rules_in_force
from tasks.gold.gold_set import read_gold_set
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.notify.webhook import webhook_url
from tasks.pii.detection import check_policy
from tasks.pii.redaction import hash_key
from tasks.run.configuration import Configuration, StagesSettings


def check_before_running(configuration: Configuration, lake: Lake) -> None:
    """Reads everything besides the documents that the run will need: the sources' folders, rules, anchor, gold sets,
    the PII policy, the embedding model and its key (an endpoint is not asked), the webhook's URL.

    Raises:
        ConfigurationError: one of them is wrong.
    """
    rules_in_force(configuration.gate, load_catalogue())
    resolve_anchor(Runs(lake), configuration.gate.anchor)
    for folder in configuration.gold:
        read_gold_set(folder)
    check_stages(configuration.stages)
    if configuration.notify is not None:
        webhook_url(configuration.notify)
    for source in configuration.sources:
        if isinstance(source, FolderSource):
            existing_root(source)


def check_stages(stages: StagesSettings) -> None:
    """What stages need besides the documents: the PII policy and its key, the embedding model and its key.

    Raises:
        ConfigurationError: one of them is wrong.
    """
    check_policy(stages.pii)
    hash_key(stages.pii)
    embedding_model(stages.embed)
    endpoint = stages.embed.endpoint
    if endpoint is not None and endpoint.api_key_env is not None:
        api_key(endpoint.api_key_env)
