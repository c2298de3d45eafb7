package import Runtime

/// ## Keys
/// - `products.followEvery`: how often each process looks whether a new product map was published.
/// - `products.folder`: where a gateway keeps the last product map it has seen.
package struct ProductMapSettings: Sendable {
    package var followEvery = Duration.seconds(2)
    /// Nil keeps none.
    package var folder: String?

    package init() {}

    /// `fallback` is the folder when none is named.
    package init(_ settings: inout SettingsReader, besides spool: String) {
        followEvery = settings.duration(
            "products.followEvery", default: followEvery, in: .milliseconds(50) ... .seconds(60),
            "How often each process looks whether a new product map was published.")
        let named = settings.optionalString(
            "products.folder",
            "Folder where a gateway keeps the last published product map, for a start without Redis; `maps` in spool.folder if not set."
        )
        folder = named ?? "\(spool)/maps"
    }
}
