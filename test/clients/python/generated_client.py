"""What a stranger does with a client that openapi-python-client has made from the description.

    python generated_client.py DIRECTORY_OF_THE_CLIENT URL TOKEN

Prints one JSON object; ends with an exception when an answer is not what its model says.
"""
import io
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

from flow_engine_client import AuthenticatedClient
from flow_engine_client.api.artifacts import store_artifact
from flow_engine_client.api.cascades import list_cascades
from flow_engine_client.api.flows import create_flow, get_flow, list_flows
from flow_engine_client.api.messages import get_message, get_message_history, publish_message
from flow_engine_client.api.runs import create_run, get_run, list_runs
from flow_engine_client.models import CreateFlow, CreateRun, PublishValue
from flow_engine_client.types import File

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3], raise_on_unexpected_status=True)


def eventually(look):
    for _ in range(600):
        seen = look()
        if seen is not None:
            return seen
        time.sleep(0.05)
    raise TimeoutError("it did not come to pass")


port = lambda name: {"name": name, "dtype": "float"}
node = {
    "id": "double",
    "type": "code",
    "language": "js",
    "source": "export default ({ x }) => ({ y: x * 2 })",
    "ports": {"inputs": [port("x")], "outputs": [port("y")]},
}
document = {"inputs": [{"message": "x", "dtype": "float"}], "nodes": [node]}
create_flow.sync(client=client, body=CreateFlow.from_dict({"name": "python", "document": document}))
publish_message.sync(client=client, name="python.x", body=PublishValue(value=3))
value = eventually(lambda: get_message.sync(client=client, name="python.y").value)
run = create_run.sync(client=client, name="python", body=CreateRun.from_dict({"inputs": {"x": 4}}))


def ended():
    now = get_run.sync(client=client, id=run.id)
    return None if now.status.value in ("queued", "running") else now


run = eventually(ended)
stored = store_artifact.sync(client=client, body=File(payload=io.BytesIO(b"hello")))
print(
    json.dumps(
        {
            "flows": [flow.name for flow in list_flows.sync(client=client).items],
            "version": get_flow.sync(client=client, name="python").version,
            "value": value,
            "history": [point.value for point in get_message_history.sync(client=client, name="python.y").items],
            "cascades": [cascade.root for cascade in list_cascades.sync(client=client).items],
            "status": run.status.value,
            "result": run.result.additional_properties,
            "created_at": run.created_at.isoformat(),
            "runs": [each.id == run.id for each in list_runs.sync(client=client).items],
            "digest": stored.digest,
        }
    )
)
