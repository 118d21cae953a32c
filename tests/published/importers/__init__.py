"""What property tests here share: a busy machine is not a failure."""

from hypothesis import HealthCheck

PATIENT = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
