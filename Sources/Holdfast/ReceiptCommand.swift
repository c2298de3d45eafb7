import AppStore
import Entitlements
import Runtime
import Time

/// `holdfast receipt FILE`: what a receipt is, whose, who signed it, what was bought.
enum ReceiptCommand {
    static let summary = "says what a receipt is, whether Apple signed it, and what was bought"

    static let help = """
        usage: holdfast receipt [OPTIONS] FILE

        Reads a receipt (not a JWS: see holdfast verify) from FILE, or from standard input if FILE is -, in base64 as apps
        send it or as it lies on a device, and says what it is, whose, signed by whom, verified or why not, and what was
        bought. App receipts are verified: markers, chain to Apple's root, certificates valid when it was made, signature.
        Receipts of one transaction in the style of iOS 6 and those that Xcode makes cannot be, and say so.

          --transaction-id     print only a transaction id from it, to ask the App Store Server API with; verifies nothing
          --root FILE          trust this root instead of Apple's (PEM or DER); may be given several times
          --bundle-id ID       the app it must be for
          --environment NAME   production or sandbox
          --device-id ID       the device it must be for: identifierForVendor (a UUID) or, on macOS, the MAC address
          --at DATE            judge as of this instant (RFC 3339) instead of now
          --json               answer as JSON

        Exit codes: 0 verified (with --transaction-id: there is one), 1 not, 2 usage.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let parsed = try CommandArguments(
            arguments, options: ["root", "bundle-id", "environment", "device-id", "at"],
            flags: ["json", "transaction-id"])
        guard parsed.operands.count == 1, let path = parsed.operands.first else {
            throw UsageError("receipt takes one file, or - for standard input")
        }
        let input = try path == "-" ? standardInput() : contents(of: path)
        if parsed.has("transaction-id") { return transactionID(of: input) }
        let report = ReceiptReport(
            of: input, verifier: ReceiptVerifier(roots: try roots(parsed.values("root"))),
            expecting: ReceiptVerifier.Expectation(
                bundleID: parsed.value("bundle-id"), environment: try environment(parsed.value("environment")),
                device: try device(parsed.value("device-id"))),
            now: try instant(parsed.value("at")))
        print(parsed.has("json") ? report.json : report.text, terminator: parsed.has("json") ? "\n" : "")
        return report.isFine ? 0 : 1
    }

    private static func transactionID(of input: [UInt8]) -> Int32 {
        do throws(ReceiptFailure) {
            let receipt = try Receipt(input)
            guard let id = receipt.transactionID else {
                Console.error("there is no purchase in it")
                return 1
            }
            if case .xcode = receipt { Console.error("Xcode made it: the App Store does not know this transaction") }
            print(id.printable())
            return 0
        } catch {
            Console.error(error.sentence)
            return 1
        }
    }

    private static func roots(_ paths: [String]) throws(UsageError) -> ReceiptRoots {
        var roots: ReceiptRoots?
        for path in paths {
            let bytes = try contents(of: path)
            do throws(TrustedRootsError) {
                let more = try ReceiptRoots(file: bytes)
                roots = roots?.adding(more) ?? more
            } catch {
                throw UsageError("--root \(path): \(error)")
            }
        }
        return roots ?? .apple
    }

    private static func contents(of path: String) throws(UsageError) -> [UInt8] {
        do { return try File.bytes(at: path, limit: 8 << 20) } catch { throw UsageError("\(error)") }
    }

    private static func standardInput() throws(UsageError) -> [UInt8] {
        do { return try File.standardInput(limit: 8 << 20) } catch { throw UsageError("\(error)") }
    }

    private static func environment(_ name: String?) throws(UsageError) -> StoreEnvironment? {
        guard let name else { return nil }
        guard let environment = StoreEnvironment(rawValue: name.lowercased()) else {
            throw UsageError("--environment is production or sandbox")
        }
        return environment
    }

    /// Hexadecimal digits, with or without dashes or colons: 16 bytes or 6.
    private static func device(_ text: String?) throws(UsageError) -> [UInt8]? {
        guard let text else { return nil }
        let digits = text.filter { $0 != "-" && $0 != ":" }.map(\.hexDigitValue)
        guard [12, 32].contains(digits.count), !digits.contains(nil) else {
            throw UsageError("--device-id is a UUID, or a MAC address such as 00:1B:63:84:45:E6")
        }
        let values = digits.compactMap { $0 }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    private static func instant(_ text: String?) throws(UsageError) -> Timestamp {
        guard let text else { return WallClock.system.now() }
        guard let instant = Timestamp(rfc3339: text) else {
            throw UsageError("--at takes an instant such as 2026-11-30T02:14:38Z")
        }
        return instant
    }
}
