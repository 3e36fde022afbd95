"""What a claim has been given."""

from typing import Any

from stowage_testbed.observe.devices import DeviceGiven, list_given


def test_what_a_claim_has_been_given_is_read_with_shares_and_without_admin_access() -> None:
    """Admin access takes nothing from anybody; a claim without allocation has nothing."""
    one = {"request": "gpu/whole", "driver": "gpu.stowage.dev", "pool": "gpu-0", "device": "gpu-1"}
    share = {**one, "request": "part", "shareID": "s", "consumedCapacity": {"memory": "30Gi"}}
    admin = {**one, "request": "look", "adminAccess": True}
    body = {"status": {"allocation": {"devices": {"results": [one, share, admin]}}}}
    place: dict[str, Any] = {"driver": "gpu.stowage.dev", "pool": "gpu-0", "device": "gpu-1"}

    assert list_given(body, "mine") == (
        DeviceGiven(claim="mine", request="gpu/whole", **place),
        DeviceGiven(claim="mine", request="part", capacity={"memory": "30Gi"}, **place),
    )
    assert list_given({"status": {}}, "mine") == list_given({"status": {"allocation": {}}}, "mine") == ()
