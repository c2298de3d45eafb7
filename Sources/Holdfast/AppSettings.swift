import AppStore
import CacheTier
import Entitlements
import Runtime

/// ## Keys
/// - `apps.<id>.bundleId` (string, required) and `apps.<id>.appAppleId` (integer, required): Apple's names for the app.
/// - `apps.<id>.holdBound` (duration): how long a payer is served after the paid period while Apple is silent.
/// - `apps.<id>.transfers.*`: what becomes of a purchase that another customer claims (`TransferRules`).
/// - `apps.<id>.serverAPI.*`: the key for the App Store Server API (`ServerAPIKey.read`); without one nothing asks Apple.
/// - `apps.<id>.products.<productId>.*`: the first product map, which counts until one is published (`holdfast products`);
///   it keeps the ids of products no longer sold.
struct AppSettings: Sendable {
    let id: AppID
    let identity: AppIdentity
    let map: ProductMap
    let policy: EvaluationPolicy
    let transfers: TransferRules
    /// nil when none is given: what asks Apple then says so, all else works.
    let serverAPIKey: ServerAPIKey?

    /// All apps of the settings, sorted by their ids.
    static func all(_ settings: inout SettingsReader) -> [AppSettings] {
        let names = settings.names(in: "apps")
        if names.isEmpty { settings.complain(about: "apps", "name at least one app") }
        return names.map { name in
            if name != "*", !isPlain(name) {
                settings.complain(about: "apps.\(name)", "the id of an app has 1 to 64 of a-z, A-Z, 0-9, - and _")
            }
            return settings.within("apps", name) { AppSettings(id: AppID(name), &$0) }
        }
    }

    private init(id: AppID, _ settings: inout SettingsReader) {
        self.id = id
        identity = AppIdentity(
            bundleID: settings.requiredString("bundleId", "Apple's bundle identifier, such as com.example.app."),
            appAppleID: settings.requiredInteger(
                "appAppleId", in: 1...Int64.max,
                "Apple's number for the app (App Store Connect: App Information, Apple ID)."))
        serverAPIKey = ServerAPIKey.read(&settings)
        policy = EvaluationPolicy(
            holdBound: settings.duration(
                "holdBound", default: .seconds(86_400), in: .zero ... .seconds(7 * 86_400),
                "How long a payer keeps access after the paid period while there is no word from Apple."))
        transfers = Self.transfers(&settings)
        map = ProductMap(version: "settings", products: ProductMap.Product.readAll(&settings))
    }

    private static func transfers(_ settings: inout SettingsReader) -> TransferRules {
        let standard = TransferRules.standard
        return TransferRules(
            policy: settings.choice(
                "transfers.policy", default: standard.policy,
                "Who has a purchase that a second customer claims: whoever had it first (keep), the last (transfer), the "
                    + "last once it gives no access (transferIfInactive), or all of them (share)."),
            limit: settings.integer(
                "transfers.limit", default: standard.limit, in: 1...1000,
                "How often a purchase may move between customers within the window."),
            window: settings.duration(
                "transfers.window", default: standard.window, in: .seconds(60) ... .seconds(3660 * 86_400),
                "The time over which moves of a purchase are counted."))
    }

    /// An id stands in URLs, Redis keys and metrics, so it is kept plain.
    private static func isPlain(_ id: String) -> Bool {
        1...64 ~= id.utf8.count
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
