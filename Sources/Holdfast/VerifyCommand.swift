import AppStore
import Entitlements
import Runtime
import Time

/// `holdfast verify FILE`: what a signed text is, who signed it, what is wrong with it.
enum VerifyCommand {
    static let summary = "says what a signed payload is, whether it is Apple's, and what is wrong with it"

    static let help = """
        usage: holdfast verify [OPTIONS] FILE

        Reads a notification body ({"signedPayload":"..."}) or a bare JWS of any kind (notification, transaction,
        renewal information, app transaction, realtime request) from FILE, or from standard input if FILE is -, and
        says what it is, who signed it and what is wrong with it, nested parts included.

          --root FILE          trust this root instead of Apple's (PEM or DER); may be given several times
          --bundle-id ID       the app it must be for, nested parts included
          --app-apple-id N     that app's Apple id, checked for production
          --environment NAME   production or sandbox
          --at DATE            judge as of this instant (RFC 3339) instead of now
          --ocsp               ask the issuers whether the certificates are revoked, once their chain has been verified
          --xcode              take it for data of a local test, which Xcode signed on somebody's computer: nothing
                               but its form can be checked, and it proves nothing
          --json               answer as JSON

        Exit codes: 0 fine, 1 something is wrong with it, 2 usage, 3 nothing is wrong, but with --ocsp nobody could say
        whether a certificate is revoked.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let parsed = try CommandArguments(
            arguments, options: ["root", "bundle-id", "app-apple-id", "environment", "at"],
            flags: ["json", "ocsp", "xcode"])
        guard parsed.operands.count == 1, let path = parsed.operands.first else {
            throw UsageError("verify takes one file, or - for standard input")
        }
        let bytes = try path == "-" ? standardInput() : contents(of: path)
        var report = parsed.has("xcode") ? try localTest(bytes, parsed) : try report(on: bytes, parsed)
        if parsed.has("ocsp") { try await askForRevocation(of: &report) }
        print(parsed.has("json") ? report.json : report.text, terminator: parsed.has("json") ? "\n" : "")
        return report.isFine ? 0 : report.lacksOnlyRevocation ? 3 : 1
    }

    private static func report(
        on bytes: [UInt8], _ parsed: CommandArguments
    ) throws(UsageError) -> VerificationReport {
        VerificationReport(
            of: bytes, verifier: JWSVerifier(roots: try roots(parsed.values("root"))),
            expecting: VerificationReport.Expectation(
                bundleID: parsed.value("bundle-id"), appAppleID: try parsed.integer("app-apple-id", in: 1...Int64.max),
                environment: try environment(parsed.value("environment"))),
            now: try instant(parsed.value("at")))
    }

    private static func localTest(
        _ bytes: [UInt8], _ parsed: CommandArguments
    ) throws(UsageError) -> VerificationReport {
        let given = ["root", "app-apple-id", "environment", "at"].first { parsed.value($0) != nil }
        if let option = given ?? (parsed.has("ocsp") ? "ocsp" : nil) {
            throw UsageError("--\(option) says nothing about data of a local test (--xcode)")
        }
        return VerificationReport(ofLocalTest: bytes, expecting: parsed.value("bundle-id"))
    }

    private static func askForRevocation(of report: inout VerificationReport) async throws {
        let loop = try EventLoop(name: "ocsp")
        defer { loop.stop() }
        let checker = RevocationChecker(
            settings: RevocationSettings(), loop: loop, metrics: Metrics(), log: .discarding)
        await report.askForRevocation(checker, now: WallClock.system.now())
        await checker.drain()
    }

    private static func roots(_ paths: [String]) throws(UsageError) -> TrustedRoots {
        var roots: TrustedRoots?
        for path in paths {
            let bytes = try contents(of: path)
            do throws(TrustedRootsError) {
                let more = try TrustedRoots(file: bytes)
                roots = roots?.adding(more) ?? more
            } catch {
                throw UsageError("--root \(path): \(error)")
            }
        }
        return roots ?? .apple
    }

    private static func contents(of path: String) throws(UsageError) -> [UInt8] {
        do { return try File.bytes(at: path, limit: 4 << 20) } catch { throw UsageError("\(error)") }
    }

    private static func standardInput() throws(UsageError) -> [UInt8] {
        do { return try File.standardInput(limit: 4 << 20) } catch { throw UsageError("\(error)") }
    }

    private static func environment(_ name: String?) throws(UsageError) -> StoreEnvironment? {
        guard let name else { return nil }
        guard let environment = StoreEnvironment(rawValue: name.lowercased()) else {
            throw UsageError("--environment is production or sandbox")
        }
        return environment
    }

    private static func instant(_ text: String?) throws(UsageError) -> Timestamp {
        guard let text else { return WallClock.system.now() }
        guard let instant = Timestamp(rfc3339: text) else {
            throw UsageError("--at takes an instant such as 2026-11-30T02:14:38Z")
        }
        return instant
    }
}
