"""Verifies the notifications of a folder with Apple's own library; prints its version and what each cost."""
import sys
import time
from importlib.metadata import version

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

folder, count = sys.argv[1], int(sys.argv[2])
with open(f"{folder}/notifications") as file:
    notifications = file.read().split("\n")[:count]
with open(f"{folder}/root.der", "rb") as file:
    root = file.read()


def cost(online):
    verifier = SignedDataVerifier([root], online, Environment.PRODUCTION, "com.example.app", 1234567890)
    # It keeps verified chains only while it checks them online. There is no responder here: whatever is asked is good.
    verifier._chain_verifier.check_ocsp_status = lambda *_: None

    def verify(text):
        data = verifier.verify_and_decode_notification(text).data
        transaction = verifier.verify_and_decode_signed_transaction(data.signedTransactionInfo)
        renewal = verifier.verify_and_decode_renewal_info(data.signedRenewalInfo)
        assert transaction.originalTransactionId == renewal.originalTransactionId

    verify(notifications[0])
    cpu, wall = time.thread_time(), time.perf_counter()
    for text in notifications:
        verify(text)
    cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
    return f"{cpu / len(notifications) * 1e6}\t{wall / len(notifications) * 1e6}"


print(f"apple\t{version('app-store-server-library')}")
print(f"apple-cold\t{cost(False)}")
print(f"apple-warm\t{cost(True)}")
