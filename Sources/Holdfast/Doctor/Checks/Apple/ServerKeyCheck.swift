import AppStore
import Entitlements
import Runtime

/// Whether the key for the App Store Server API looks like one.
struct ServerKeyCheck: Check {
    var name: String { "key, \(app.id.rawValue)" }
    let isRemote = false
    let app: AppSettings
    let patient: Patient

    func examine() async -> Finding {
        let setting = "apps.\(app.id.rawValue).serverAPI"
        guard let key = app.serverAPIKey else {
            let mistakes = patient.mistakes.filter { $0.hasPrefix(setting) }
            if let first = mistakes.first {
                return Finding(
                    verdict: .wrong, sentence: first, remedies: mistakes.dropFirst() + [Self.whereFrom])
            }
            return .notChecked("no \(setting): Apple cannot be asked", Self.whereFrom)
        }
        var findings: [Finding] = []
        if key.keyID.utf8.count != 10 || !key.keyID.utf8.allSatisfy(Self.isKeyCharacter) {
            findings.append(
                .warning("\(setting).keyId “\(key.keyID)” does not look like one: 10 of A-Z and 0-9", Self.whereFrom))
        }
        if !Self.isUUID(key.issuerID) {
            findings.append(
                .warning(
                    "\(setting).issuerId “\(key.issuerID)” does not look like one: 57246542-96fe-1a63-e053-0824d011072a",
                    Self.whereFrom))
        }
        if let file = patient.files.first(where: { $0.setting == "\(setting).privateKeyFile" })?.path,
            let named = Self.keyID(in: file), named != key.keyID
        {
            findings.append(
                .warning(
                    "\(file) is named for the key \(named), and \(setting).keyId is \(key.keyID)",
                    "Use the id and the file of the same key."))
        }
        return .of(findings, otherwise: "\(key.keyID), on P-256")
    }

    static let whereFrom =
        "App Store Connect: Users and Access, Integrations, In-App Purchase, has id, issuer and file."

    private static func isKeyCharacter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private static func isUUID(_ text: String) -> Bool {
        text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count) == [8, 4, 4, 4, 12]
            && text.allSatisfy { $0 == "-" || $0.isHexDigit }
    }

    /// `AuthKey_ABCDEF1234.p8` says whose it is.
    private static func keyID(in path: String) -> String? {
        guard let name = path.split(separator: "/").last, name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else {
            return nil
        }
        return String(name.dropFirst(8).dropLast(3))
    }
}
