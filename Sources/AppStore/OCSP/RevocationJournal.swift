internal import Runtime
internal import Synchronization
internal import Time

/// Writes into the log what responders answered: each verdict, but of failures only one in a while.
final class RevocationJournal: Sendable {
    private struct Failures {
        var loggedAt: ContinuousClock.Instant?
        var silenced = 0
    }

    private let log: Log
    private let failures = Mutex(Failures())

    private static let pause = Duration.seconds(600)

    init(log: Log) { self.log = log }

    func note(
        _ result: Result<OCSPAnswer, OCSPFailure>, meaning status: RevocationStatus, of link: VerifiedChain.Link,
        address: String, in time: Duration, at instant: ContinuousClock.Instant
    ) {
        let milliseconds = Int64((time / .milliseconds(1)).rounded())
        switch result {
        case .success(let answer) where answer.verdict == .good:
            failures.withLock { $0.loggedAt = nil }
            log.info(
                "certificate is not revoked",
                [
                    "certificate": .init(link.subject), "sha256": .init(link.fingerprint),
                    "until": .init(answer.nextUpdate.rfc3339), "milliseconds": .init(milliseconds),
                ])
        case .success(let answer) where answer.verdict != .unknown:
            log.error(
                "certificate is revoked",
                [
                    "certificate": .init(link.subject), "sha256": .init(link.fingerprint),
                    "detail": .init(status.description), "milliseconds": .init(milliseconds),
                ])
        case .success, .failure:
            let silenced: Int? = failures.withLock { failures in
                if let last = failures.loggedAt, instant - last < Self.pause {
                    failures.silenced &+= 1
                    return nil
                }
                defer { failures = Failures(loggedAt: instant) }
                return failures.silenced
            }
            guard let silenced else { return }
            let why =
                switch result {
                case .success: RevocationStatus.unknown.description
                case .failure(let failure): failure.description
                }
            log.warning(
                "whether a certificate is revoked is not known",
                [
                    "certificate": .init(link.subject), "responder": .init(address), "detail": .init(why),
                    "result": .init(status.code), "milliseconds": .init(milliseconds),
                    "silencedSinceTheLastLine": .init(silenced),
                ])
        }
    }
}
