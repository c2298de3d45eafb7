package import HTTP
package import Runtime
internal import Synchronization
package import Time

/// Knows whether the certificates of verified chains are revoked, and asks their issuers' responders when it does not.
///
/// It is for whoever applies what was verified, never for the acknowledgement path: a question may take as long as the
/// timeout of the settings. However many wait for a certificate, its responder is asked once; answers and failures are
/// kept, so that neither a good nor a dead responder is asked for each notification.
///
/// Addresses come out of certificates only, and only of those in a `VerifiedChain`: a header that nobody vouches for
/// cannot make this send anything anywhere.
package final class RevocationChecker: Service {
    package typealias Transport =
        @Sendable (HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse

    package let name = "ocsp"
    package let settings: RevocationSettings
    private let transport: Transport
    private let close: @Sendable () async -> Void
    private let clock: WallClock
    private let monotonic: @Sendable () -> ContinuousClock.Instant
    private let metrics: RevocationMetrics
    private let journal: RevocationJournal
    private let cache: Mutex<RevocationCache>

    /// Asks through `transport`; `monotonic` is the clock by which answers age.
    package init(
        settings: RevocationSettings, clock: WallClock = .system,
        monotonic: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, metrics: Metrics, log: Log,
        transport: @escaping Transport, close: @escaping @Sendable () async -> Void = {}
    ) {
        self.settings = settings
        self.clock = clock
        self.monotonic = monotonic
        self.transport = transport
        self.close = close
        self.metrics = RevocationMetrics(metrics)
        journal = RevocationJournal(log: log.part("ocsp"))
        cache = Mutex(RevocationCache(settings))
    }

    /// Asks over HTTP, on `loop`.
    package convenience init(
        settings: RevocationSettings, clock: WallClock = .system, loop: EventLoop, metrics: Metrics, log: Log
    ) {
        let client = HTTPClient(
            settings: HTTPClientSettings(
                connectTimeout: settings.timeout, totalTimeout: settings.timeout,
                maximumResponseBytes: RevocationSettings.answerLimit, maximumConnections: 8,
                maximumConnectionsPerHost: 4,
                maximumRequests: 64, proxy: settings.proxy),
            loop: loop)
        self.init(settings: settings, clock: clock, metrics: metrics, log: log) { request throws(HTTPClientError) in
            try await client.send(request)
        } close: {
            await client.close()
        }
    }

    package func start() async throws {}
    package func drain() async { await close() }

    /// Certificates about which something is known.
    package var cachedCertificateCount: Int { cache.withLock { $0.count } }

    // MARK: What it means for signed data

    /// Throws when the settings let nothing pass that was signed at `signedAt` under `chain`.
    package func check(
        _ chain: VerifiedChain, signedAt: Timestamp, part: VerificationFailure.Part
    ) async throws(VerificationFailure) {
        guard settings.mode != .off else { return }
        let rule = RevocationRule(mode: settings.mode)
        let statuses = await statuses(of: chain)
        let failures = zip(chain.links, statuses).compactMap {
            rule.failure($1, of: $0, signedAt: signedAt, part: part)
        }
        // What no waiting mends comes first.
        if let failure = failures.first(where: { !$0.isRetryable }) ?? failures.first { throw failure }
    }

    /// The same of every part of a notification.
    package func check(_ notification: VerifiedNotification) async throws(VerificationFailure) {
        guard settings.mode != .off else { return }
        let now = clock.now()
        var parts = [(notification.envelope.chain, notification.signedDate, PayloadKind.notification.part, false)]
        func add<Payload>(_ verified: Verified<Payload>?) {
            guard let verified else { return }
            parts.append((verified.chain, verified.payload.dateOfSigning ?? now, Payload.kind.part, true))
        }
        add(notification.transaction)
        add(notification.renewalInfo)
        add(notification.appTransaction)
        var passing: VerificationFailure?
        for (chain, signedAt, part, isNested) in parts {
            do throws(VerificationFailure) { try await check(chain, signedAt: signedAt, part: part) } catch {
                let failure = isNested ? error.nested : error
                guard failure.isRetryable else { throw failure }
                passing = passing ?? failure
            }
        }
        if let passing { throw passing }
    }

    // MARK: What is known

    /// The status of the leaf and of the intermediate; roots are trusted because they were configured. Both are asked
    /// about at once.
    package func statuses(of chain: VerifiedChain) async -> [RevocationStatus] {
        let pending = zip(chain.members, chain.members.dropFirst()).enumerated().map { index, pair in
            status(of: pair.0, issuedBy: pair.1, link: chain.links[index])
        }
        var statuses: [RevocationStatus] = []
        for one in pending {
            let status =
                switch one {
                case .known(let status): status
                case .asking(let task): await task.value
                }
            metrics.checked(status)
            statuses.append(status)
        }
        return statuses
    }

    private enum Pending {
        case known(RevocationStatus)
        case asking(Task<RevocationStatus, Never>)
    }

    private func status(
        of certificate: Certificate, issuedBy issuer: Certificate, link: VerifiedChain.Link
    ) -> Pending {
        let now = clock.now()
        guard certificate.notAfter >= now else { return .known(.expired) }
        guard let address = certificate.ocspAddress else { return .known(.noResponder) }
        let instant = monotonic()
        return cache.withLock { cache in
            switch cache.step(for: link.fingerprint, now: now, monotonic: instant) {
            case .known(let status, let age):
                if let age { metrics.answerUsed(age: age) }
                return .known(status)
            case .wait(let task): return .asking(task)
            case .ask:
                // On its own, so that whoever asked first may stop waiting without harm to those who wait too.
                let task = Task(name: "ocsp") { await ask(address, about: certificate, issuedBy: issuer, link: link) }
                cache.asking(task, about: link.fingerprint, at: instant)
                return .asking(task)
            }
        }
    }

    private func ask(
        _ address: String, about certificate: Certificate, issuedBy issuer: Certificate, link: VerifiedChain.Link
    ) async -> RevocationStatus {
        let began = monotonic()
        let result: Result<OCSPAnswer, OCSPFailure>
        do throws(OCSPFailure) {
            result = .success(try await answer(from: address, about: certificate, issuedBy: issuer))
        } catch {
            result = .failure(error)
        }
        let ended = monotonic()
        let now = clock.now()
        let status = cache.withLock {
            $0.asked(about: link.fingerprint, result, now: now, monotonic: ended)
        }
        metrics.asked(result, in: ended - began)
        journal.note(result, meaning: status, of: link, address: address, in: ended - began, at: ended)
        return status
    }

    private func answer(
        from address: String, about certificate: Certificate, issuedBy issuer: Certificate
    ) async throws(OCSPFailure) -> OCSPAnswer {
        guard let request = OCSPRequest(about: certificate, issuedBy: issuer, withNonce: settings.nonce) else {
            throw OCSPFailure(.unreachable, "OpenSSL could not write the question")
        }
        let response: HTTPClientResponse
        do {
            response = try await transport(
                HTTPClientRequest(
                    .post, address,
                    headers: ["Content-Type": "application/ocsp-request", "Accept": "application/ocsp-response"],
                    body: request.der, timeout: settings.timeout))
        } catch {
            throw OCSPFailure(error.code == .tooLarge ? .tooLarge : .unreachable, "\(address): \(error)")
        }
        guard response.status == 200 else {
            throw OCSPFailure(.httpStatus, "\(address) answered with HTTP status \(response.status)")
        }
        return try OCSPResponseCheck(request: request, issuer: issuer, skew: settings.skew)
            .answer(in: response.body, now: clock.now())
    }
}
