import AppStore
import HTTP
import Runtime
import Synchronization
import TestSupport
import Testing
import Time

/// An authority, a chain of its making, and responders that say what a test wants, in place of the network.
final class ScriptedResponder: Sendable {
    /// One question, and what is needed to answer it.
    struct Asked: Sendable {
        /// Counts from 1.
        let number: Int
        let request: HTTPClientRequest
        let question: OCSPQuestion
        /// About the leaf, not about the intermediate.
        let isAboutLeaf: Bool
    }

    typealias Script = @Sendable (Asked) async throws -> HTTPClientResponse

    let forge: Forge
    let chain: VerifiedChain
    let metrics = Metrics()
    private let state: Mutex<(asked: [Asked], script: Script)>
    private let clock = Mutex((wall: Forge.now, monotonic: ContinuousClock.now))

    init(_ script: @escaping Script) throws {
        forge = try Forge()
        state = Mutex(([], script))
        chain = try forge.verifier().verify(
            Array(forge.sign(Forge.transaction()).utf8)[...], as: TransactionPayload.self, now: Forge.now
        ).chain
    }

    /// Answers everything by what `make` makes of an ordinary good answer.
    convenience init(
        changing make: @escaping @Sendable (inout OCSPResponse, Asked, ScriptedResponder) throws -> Void = { _, _, _ in
        }
    ) throws {
        try self.init { _ in HTTPClientResponse(status: 500) }
        script { [unowned self] asked in
            var response = self.good(asked)
            try make(&response, asked, self)
            return try self.signed(response, asked)
        }
    }

    var asked: [Asked] { state.withLock { $0.asked } }
    var now: Timestamp { clock.withLock { $0.wall } }

    func script(_ script: @escaping Script) { state.withLock { $0.script = script } }

    func advance(by duration: Duration) {
        clock.withLock { $0 = ($0.wall + duration, $0.monotonic + duration) }
    }

    func checker(
        _ mode: RevocationSettings.Mode = .hard, log: Log = .discarding,
        _ change: (inout RevocationSettings) -> Void = { _ in }
    ) -> RevocationChecker {
        var settings = RevocationSettings()
        settings.mode = mode
        change(&settings)
        return RevocationChecker(
            settings: settings, clock: WallClock { self.now }, monotonic: { self.clock.withLock { $0.monotonic } },
            metrics: metrics, log: log
        ) { request throws(HTTPClientError) in
            guard let question = OCSPQuestion(der: request.body) else {
                throw HTTPClientError(.invalidRequest, "that is no OCSP request")
            }
            let (asked, script) = self.state.withLock { state in
                let asked = Asked(
                    number: state.asked.count + 1, request: request, question: question,
                    isAboutLeaf: request.url == CertificateAuthority.Responders().intermediate)
                state.asked.append(asked)
                return (asked, state.script)
            }
            do { return try await script(asked) } catch {
                throw error as? HTTPClientError ?? HTTPClientError(.failed, "\(error)")
            }
        }
    }

    /// An ordinary answer, from a minute ago for the next hour.
    func good(_ asked: Asked, _ status: OCSPResponse.Status = .good) -> OCSPResponse {
        OCSPResponse(
            answers: asked.question.certificates.map {
                OCSPResponse.Single(
                    certificate: $0, status: status, thisUpdate: now - .seconds(60), nextUpdate: now + .seconds(3600))
            }, producedAt: now - .seconds(60), nonce: asked.question.nonce)
    }

    /// Signed by the issuer of what was asked about.
    func signed(_ response: OCSPResponse, _ asked: Asked, by key: SigningKey? = nil) throws -> HTTPClientResponse {
        let issuer = asked.isAboutLeaf ? forge.authority.intermediate : forge.authority.root
        return Self.response(try response.signed(by: key ?? issuer.key))
    }

    static func response(_ body: [UInt8], status: Int = 200) -> HTTPClientResponse {
        HTTPClientResponse(status: status, body: body)
    }

    /// A responder's certificate, by default as the intermediate would make one.
    func responderCertificate(
        key: SigningKey, from start: Timestamp = Forge.now - .seconds(86_400),
        until end: Timestamp = Forge.now + .seconds(86_400),
        extensions: [CertificateTemplate.Extension] = [.signsOCSP, .signsData],
        issuer: CertificateTemplate.Name = CertificateAuthority.relationsName, by issuerKey: SigningKey? = nil
    ) throws -> [UInt8] {
        try CertificateTemplate(
            subject: CertificateTemplate.Name(commonName: "OCSP Responder", unit: "G6"), issuer: issuer,
            notBefore: start, notAfter: end, subjectPublicKeyInfo: try key.subjectPublicKeyInfo(),
            extensions: extensions
        ).signed(by: issuerKey ?? forge.authority.intermediate.key)
    }
}

extension RevocationChecker {
    /// What the check of a transaction says: the failure, or nil when it passes.
    func verdict(_ chain: VerifiedChain, signedAt: Timestamp = Forge.now) async -> VerificationFailure? {
        do throws(VerificationFailure) {
            try await check(chain, signedAt: signedAt, part: .transaction)
            return nil
        } catch { return error }
    }
}
