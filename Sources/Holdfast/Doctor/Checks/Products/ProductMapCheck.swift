import CacheTier
import Entitlements
import Redis
import Time

/// Which product map of an app counts, and whether it knows every product that was bought.
struct ProductMapCheck: Check {
    let app: AppSettings
    let patient: Patient

    var name: String { "products, \(app.id)" }

    func examine() async -> Finding {
        await patient.withRedis { client throws(RedisError) in
            // Asking the maps would found a store.
            guard case .fine = try await StoreInspector(redis: client).layout() else {
                return .of(own, otherwise: "the settings' map, with \(Self.count(app.map))")
            }
            do throws(StoreError) { return try await finding(client) } catch {
                if case .redis(let cause) = error { throw cause }
                return .wrong("\(error)", "Publish the map again: holdfast products publish FILE --app \(app.id)")
            }
        }
    }

    private func finding(_ client: any RedisLink) async throws(StoreError) -> Finding {
        let store = ProductMapStore(redis: client)
        let published = try await store.published(of: app.id)
        let map = published?.map ?? app.map
        var findings = published == nil ? own : []
        if let published, published.document != ProductMapDocument(products: app.map.products) {
            findings.append(
                .warning(
                    "version \(published.version) counts, and the settings' map, which does not, says something else",
                    "See how they differ: holdfast products diff settings current --app \(app.id)",
                    "Bring the settings up to date, or leave `products` out of them."))
        }
        let left = try await store.versions(of: app.id).compactMap(\.recomputation).last { !$0.isDone }
        if let left {
            findings.append(
                .warning(
                    "not everybody was told of version \(left.version) yet (\(Int(left.fraction * 100)) %)",
                    "A running consumer goes on, or: holdfast products recompute --app \(app.id)"))
        }
        let (unmapped, more) = try await UnmappedProducts(redis: client).list(of: app.id, notIn: map)
        if !unmapped.isEmpty || more > 0 {
            let names = Set(unmapped.map(\.productID)).sorted()
            let shown =
                names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and \(names.count - 3) more" : "")
            findings.append(
                .warning(
                    "products were bought that the map does not know, and give nothing: \(Console.printable(shown))",
                    "See which: holdfast products unmapped --app \(app.id); then publish a map that has them."))
        }
        let what =
            published.map { "version \($0.version) of \($0.facts.publishedAt.rfc3339)" } ?? "the settings' map"
        return .of(findings, otherwise: "\(what), with \(Self.count(map))")
    }

    private static func count(_ map: ProductMap) -> String {
        map.products.count == 1 ? "1 product" : "\(map.products.count) products"
    }

    /// What is wrong with the settings' map while it counts.
    private var own: [Finding] {
        guard app.map.products.isEmpty else { return [] }
        return [
            .warning(
                "the map has no product: whatever is bought gives nothing",
                "Fill apps.\(app.id).products, or: holdfast products publish FILE --app \(app.id)")
        ]
    }
}
