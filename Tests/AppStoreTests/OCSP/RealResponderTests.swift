import AppStore
import Glibc
import HTTP
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// OpenSSL's own responder over HTTP, on the real clock: one as the root itself, one made a responder by the
/// intermediate.
@Suite("A real OCSP responder", .timeLimit(.minutes(6)), .enabled(if: access("/usr/bin/openssl", X_OK) == 0))
struct RealResponderTests {
    private let now = WallClock.system.now()

    /// Both responders, the authority whose certificates name them, and a chain of it.
    private struct Stage {
        let root: OpenSSLResponder
        let intermediate: OpenSSLResponder
        let authority: CertificateAuthority
        let delegate: CertificateAuthority.Member
        let chain: VerifiedChain

        init(now: Timestamp) throws {
            root = try OpenSSLResponder()
            intermediate = try OpenSSLResponder()
            authority = try CertificateAuthority(
                makingAt: now,
                responders: CertificateAuthority.Responders(root: root.url, intermediate: intermediate.url))
            let key = try SigningKey()
            let certificate = try CertificateTemplate(
                subject: CertificateTemplate.Name(commonName: "OCSP Responder", unit: "G6"),
                issuer: CertificateAuthority.relationsName, notBefore: now - .seconds(60),
                notAfter: now + .seconds(3600), subjectPublicKeyInfo: try key.subjectPublicKeyInfo(),
                extensions: [.signsData, .signsOCSP]
            ).signed(by: authority.intermediate.key)
            delegate = CertificateAuthority.Member(certificate: certificate, key: key)
            let jws = try authority.sign(
                Array(Forge.transaction(["signedDate": Forge.date(now)]).utf8))
            chain = try JWSVerifier(roots: TrustedRoots(der: [authority.rootDER])).verify(
                Array(jws.utf8)[...], as: TransactionPayload.self, now: now
            ).chain
        }

        private func pem(_ member: CertificateAuthority.Member) -> String {
            PEM.encode(member.certificate, label: "CERTIFICATE")
        }

        func startRoot(_ status: OpenSSLResponder.Status = .good) async throws -> OpenSSLResponder.Running {
            let serial = try await root.serial(of: pem(authority.intermediate))
            return try await root.start(
                authority: pem(authority.root), signer: pem(authority.root), key: authority.root.key.pem(),
                certificates: [(serial, status)])
        }

        func startIntermediate(_ status: OpenSSLResponder.Status?) async throws -> OpenSSLResponder.Running {
            let serial = try await intermediate.serial(of: pem(authority.leaf))
            return try await intermediate.start(
                authority: pem(authority.intermediate), signer: pem(delegate), key: delegate.key.pem(),
                certificates: status.map { [(serial, $0)] } ?? [])
        }
    }

    private func withChecker(
        _ mode: RevocationSettings.Mode = .hard, timeout: Duration = .seconds(5),
        _ body: (RevocationChecker) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "ocsp")
        var settings = RevocationSettings()
        settings.mode = mode
        settings.timeout = timeout
        settings.retryAfter = .milliseconds(100)
        let checker = RevocationChecker(settings: settings, loop: loop, metrics: Metrics(), log: .discarding)
        do { try await body(checker) } catch {
            await checker.drain()
            loop.stop()
            throw error
        }
        await checker.drain()
        loop.stop()
    }

    @Test func aGoodChainPasses() async throws {
        let stage = try Stage(now: now)
        let running = [try await stage.startRoot(), try await stage.startIntermediate(.good)]
        try await withChecker { checker in
            let statuses = await checker.statuses(of: stage.chain)
            for status in statuses {
                guard case .good(let until) = status else {
                    check(false, "\(status)")
                    continue
                }
                check(until > now + .seconds(3500) && until < now + .seconds(3700))
            }
            check(await checker.verdict(stage.chain, signedAt: now) == nil)
        }
        withExtendedLifetime(running) {}
    }

    @Test(arguments: [("keyCompromise", 1), ("superseded", 4), (nil, nil)] as [(String?, Int?)])
    func aRevokedLeafIsTold(reason: String?, code: Int?) async throws {
        let stage = try Stage(now: now)
        let running = [
            try await stage.startRoot(),
            try await stage.startIntermediate(.revoked(at: "200102030405Z", reason: reason)),
        ]
        let at = try #require(Timestamp(rfc3339: "2020-01-02T03:04:05Z"))
        try await withChecker(.soft) { checker in
            let statuses = await checker.statuses(of: stage.chain)
            check(statuses.first == .revoked(at: at, reason: RevocationReason(code: code)), "\(statuses)")
            check(await checker.verdict(stage.chain, signedAt: now)?.code == .revoked)
        }
        withExtendedLifetime(running) {}
    }

    @Test func aLeafThatTheResponderDoesNotKnowIsNotGood() async throws {
        let stage = try Stage(now: now)
        let running = [try await stage.startRoot(), try await stage.startIntermediate(nil)]
        try await withChecker { checker in
            check(await checker.statuses(of: stage.chain).first == .unknown)
        }
        withExtendedLifetime(running) {}
    }

    @Test("Pitfall 7: while a responder is down the answer is not known, and once it is up it is good")
    func whileAResponderIsDownTheAnswerIsNotKnown() async throws {
        let stage = try Stage(now: now)
        let root = try await stage.startRoot()
        try await withChecker { checker in
            let failure = await checker.verdict(stage.chain, signedAt: now)
            check(failure?.code == .revocationUnknown && failure?.isRetryable == true, "\(String(describing: failure))")
            let intermediate = try await stage.startIntermediate(.good)
            check(try await eventually { await checker.verdict(stage.chain, signedAt: now) == nil })
            withExtendedLifetime(intermediate) {}
        }
        withExtendedLifetime(root) {}
    }

    @Test func theCommandAsksAboutEachCertificate() async throws {
        let stage = try Stage(now: now)
        let folder = try TemporaryFolder("verify")
        let root = try folder.write(stage.authority.rootPEM, to: "root.pem")
        let jws = try folder.write(
            stage.authority.sign(Array(Forge.transaction(["signedDate": Forge.date(now)]).utf8)), to: "jws")
        func verify(_ options: String...) async throws -> Command.Result {
            try await Command.run(
                try ChildProcess.product("holdfast"), ["verify", "--ocsp", "--root", root] + options + [jws])
        }
        func json(_ result: Command.Result) throws -> [String?] {
            let certificates = try JSONValue.parse(Array(result.output.utf8))["parts"]?.array?.first?["certificates"]
            return (certificates?.array ?? []).map { $0["revocation"]?["result"]?.string }
        }
        let down = try await verify("--json")
        #expect(down.status == 3)
        #expect(try json(down) == ["unavailable", "unavailable", nil])

        let rootResponder = try await stage.startRoot()
        let good = try await stage.startIntermediate(.good)
        let fine = try await verify()
        #expect(fine.status == 0, "\(fine.output)")
        #expect(fine.output.contains("revocation: not revoked, good until"))
        await good.kill()

        let revoked = try await stage.startIntermediate(.revoked(at: "200102030405Z", reason: "keyCompromise"))
        let bad = try await verify("--json")
        #expect(bad.status == 1)
        #expect(try json(bad) == ["revoked", "good", nil])
        withExtendedLifetime((rootResponder, revoked)) {}
    }

    @Test func nobodyIsAskedAboutAChainThatWasNotVerified() async throws {
        let responder = try ScriptedResponder()
        let jws = Array(try responder.forge.sign(Forge.transaction()).utf8)
        let checker = responder.checker()
        var report = VerificationReport(of: jws, verifier: JWSVerifier(), now: Forge.now)
        await report.askForRevocation(checker, now: Forge.now)
        #expect(responder.asked.isEmpty)
        check(report.parts.allSatisfy(\.revocation.isEmpty))
        var trusted = VerificationReport(of: jws, verifier: try responder.forge.verifier(), now: Forge.now)
        await trusted.askForRevocation(checker, now: Forge.now)
        #expect(responder.asked.count == 2)
    }

    @Test func aSlowResponderIsWaitedForNoLongerThanTheTimeout() async throws {
        try await withStrayServer(.never) { url in
            let stage = try strayStage(url)
            try await withChecker(timeout: .milliseconds(200)) { checker in
                let status = await checker.statuses(of: stage).first
                guard case .unavailable(let failure)? = status else {
                    return check(false, "\(String(describing: status))")
                }
                check(failure.code == .unreachable && failure.description.contains("timedOut"), "\(failure)")
            }
        }
    }

    @Test func aHugeAnswerIsCutOff() async throws {
        try await withStrayServer(.answer(HTTPResponse(status: 200, body: Array(repeating: 0x30, count: 1 << 20)))) {
            url in
            let stage = try strayStage(url)
            try await withChecker { checker in
                let status = await checker.statuses(of: stage).first
                guard case .untrustworthy(let failure)? = status else {
                    return check(false, "\(String(describing: status))")
                }
                check(failure.code == .tooLarge)
            }
        }
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let elsewhere = HTTPResponse(status: 302, headers: ["Location": "http://127.0.0.1:1/"])
        try await withStrayServer(.answer(elsewhere)) { url in
            let stage = try strayStage(url)
            try await withChecker { checker in
                let status = await checker.statuses(of: stage).first
                guard case .unavailable(let failure)? = status else {
                    return check(false, "\(String(describing: status))")
                }
                check(failure.code == .httpStatus)
            }
        }
    }

    // MARK: Servers that are no responders

    private struct StrayHandler: HTTPHandler {
        enum Behaviour {
            case answer(HTTPResponse)
            case never
        }
        let behaviour: Behaviour
        let gate = Gate()

        func respond(to request: HTTPRequest) -> HTTPReply {
            switch behaviour {
            case .answer(let response): .now(response)
            case .never:
                .later {
                    await gate.wait()
                    return HTTPResponse(status: 500)
                }
            }
        }
    }

    private func withStrayServer(
        _ behaviour: StrayHandler.Behaviour, _ body: (String) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "stray")
        defer { loop.stop() }
        var settings = HTTPServerSettings()
        settings.address = "127.0.0.1:0"
        let handler = StrayHandler(behaviour: behaviour)
        let server = HTTPServer(
            settings: settings, loops: [loop], handler: handler, metrics: Metrics(), log: .discarding)
        try await server.start()
        do { try await body("http://127.0.0.1:\(server.boundPort)/") } catch {
            handler.gate.open()
            await server.drain()
            throw error
        }
        handler.gate.open()
        await server.drain()
    }

    private func strayStage(_ url: String) throws -> VerifiedChain {
        let authority = try CertificateAuthority(
            makingAt: now, responders: CertificateAuthority.Responders(root: url, intermediate: url))
        let jws = try authority.sign(Array(Forge.transaction(["signedDate": Forge.date(now)]).utf8))
        return try JWSVerifier(roots: TrustedRoots(der: [authority.rootDER])).verify(
            Array(jws.utf8)[...], as: TransactionPayload.self, now: now
        ).chain
    }
}
