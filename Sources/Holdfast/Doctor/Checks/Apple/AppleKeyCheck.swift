import AppStore
import Entitlements

/// Whether Apple answers and takes the key.
struct AppleKeyCheck: Check {
    var name: String { "apple, \(access.scope)" }
    let access: AppleAccess
    /// The same app in the other environment, if that is examined too.
    let other: AppleAccess?

    func examine() async -> Finding {
        let key = access.app.serverAPIKey?.keyID ?? ""
        guard let failure = await access.refusal.answer() else { return .fine("\(access.url) takes the key \(key)") }
        switch failure.kind {
        case .unauthorized: return await unauthorized(key)
        case .unreachable, .timedOut, .tls, .connectionLost:
            return .unreachable(
                "\(failure.message)",
                "May this machine reach \(access.url)? A proxy is named by appStoreAPI.proxy.",
                "Reads and notifications do not need it; Apple's own state: https://developer.apple.com/system-status")
        case .server:
            return .unreachable(
                "\(access.url) answers \(failure.status ?? 500): \(failure.message)",
                "Apple's trouble: https://developer.apple.com/system-status")
        case .rateLimited, .budget:
            return .notChecked("Apple's rate limit is used up (\(failure.message))", "Try again later.")
        case .unreadable:
            return .wrong(
                "\(access.url): \(failure.message)",
                "A proxy answers in Apple's place, or the URL under appStoreAPI is wrong.")
        case .invalidRequest, .key, .cancelled, .refused: return .wrong("\(failure)")
        }
    }

    /// Apple says no more than 401.
    private func unauthorized(_ key: String) async -> Finding {
        let release = "Production answers 401 until the app's first release; use the sandbox until then."
        if access.environment == .production, let other, await other.refusal.answer() == nil {
            return .warning(
                "production does not take the key \(key), and the sandbox does: has the app ever been released?",
                release)
        }
        let pair = "keyId, issuerId, the .p8 file and bundleId (\(access.app.identity.bundleID)) must be of one team."
        let kind = "It must be an In-App Purchase key, not an App Store Connect API key, and not revoked."
        let sentence = "Apple does not take the key \(key) (401, and no reason)"
        guard access.environment == .production else { return .wrong(sentence, pair, kind, ServerKeyCheck.whereFrom) }
        return .wrong(sentence, pair, kind, ServerKeyCheck.whereFrom, release)
    }
}
