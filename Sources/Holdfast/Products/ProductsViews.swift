import CacheTier
import Entitlements
import JSON
import Runtime
import Time

/// The verbs of `holdfast products` that only look.
enum ProductsViews {
    // MARK: list

    static func list(_ session: ProductsSession, asJSON: Bool) async throws -> Int32 {
        let versions = try await session.store.versions(of: session.app.id)
        let current = try await session.store.current(of: session.app.id)?.version ?? 0
        print(
            asJSON
                ? json(versions, current, session) : text(versions, current, session.settingsDocument))
        return 0
    }

    private typealias Versions = [(facts: PublishedProductMap.Facts, recomputation: Recomputation?)]

    private static func text(_ versions: Versions, _ current: UInt64, _ settings: ProductMapDocument) -> String {
        guard !versions.isEmpty else {
            return "None was published: the map of the settings counts, with \(settings.products.count) products."
        }
        return versions.map { facts, recomputation in
            let mark = facts.version == current ? "*" : " "
            var line =
                "\(mark) \(facts.version)  \(facts.publishedAt.rfc3339)  \(facts.products) products, "
                + "\(facts.version == 0 ? "from" : "by") \(Console.printable(facts.by))"
            if !facts.comment.isEmpty { line += ": \(Console.printable(facts.comment))" }
            guard let recomputation else { return line }
            let state =
                recomputation.isDone
                ? "told of all whose answer changed"
                : "told of \(Int(recomputation.fraction * 100)) %; go on with holdfast products recompute"
            return line + "\n     \(state): \(recomputation.summary)"
        }.joined(separator: "\n")
    }

    private static func json(_ versions: Versions, _ current: UInt64, _ session: ProductsSession) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        json.member("current", current)
        json.object("settings") { json in
            json.member("sha256", session.settingsDocument.digest)
            json.member("products", session.settingsDocument.products.count)
        }
        json.array("versions", versions) { json, entry in
            json.beginObject()
            entry.facts.write(to: &json)
            if let recomputation = entry.recomputation {
                json.object("recomputation") { json in recomputation.write(to: &json) }
            }
            json.endObject()
        }
        json.endObject()
        return json.text
    }

    // MARK: show, diff, import

    static func show(_ version: String?, _ session: ProductsSession, asJSON: Bool) async throws -> Int32 {
        let (number, facts, document) = try await session.version(version)
        guard asJSON else {
            print(ProductMapFile.text(document.products))
            return 0
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        if let facts { facts.write(to: &json) } else { json.member("version", number) }
        json.key("document")
        json.value(try JSONValue.parse(document.canonical))
        json.endObject()
        print(json.text)
        return 0
    }

    static func diff(_ a: String, _ b: String, _ session: ProductsSession, asJSON: Bool) async throws -> Int32 {
        func map(_ name: String) async throws -> ProductMap {
            let isVersion = UInt64(name) != nil || name == "current" || name == "settings"
            let document =
                isVersion ? try await session.version(name).2 : try ProductMapFile.document(at: name)
            return ProductMap(version: name, products: document.products)
        }
        let changes = ProductMapChanges(from: try await map(a), to: try await map(b))
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            changes.write(to: &json)
            json.endObject()
            print(json.text)
        } else {
            print(changes.lines.joined(separator: "\n"))
        }
        return 0
    }

    static func storeKit(_ path: String, _ session: ProductsSession) async throws -> Int32 {
        let catalog = try ProductMapFile.catalog(at: path)
        let current = try await session.current()
        print(
            ProductMapFile.text(
                catalog, known: ProductMap(version: "\(current.version)", products: current.document.products)))
        return 0
    }

    // MARK: unmapped

    static func unmapped(_ session: ProductsSession, asJSON: Bool) async throws -> Int32 {
        let current = try await session.current()
        let (entries, more) = try await UnmappedProducts(redis: session.redis).list(
            of: session.app.id, notIn: ProductMap(version: "\(current.version)", products: current.document.products))
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("app", session.app.id.rawValue)
            json.member("version", current.version)
            json.array("unmapped", entries) { json, entry in
                json.beginObject()
                json.member("environment", entry.environment.rawValue)
                json.member("productId", entry.productID)
                json.member("notifications", entry.notifications)
                json.member("firstSeen", entry.firstSeen.rfc3339)
                json.member("lastSeen", entry.lastSeen.rfc3339)
                json.endObject()
            }
            json.member("notificationsOfMore", more)
            json.endObject()
            print(json.text)
        } else if entries.isEmpty && more == 0 {
            print("None: every product that was seen is in the map.")
        } else {
            for entry in entries {
                print(
                    "\(entry.environment.rawValue)  \(Console.printable(entry.productID))  "
                        + (entry.notifications == 0 ? "in records" : "\(entry.notifications) notifications")
                        + ", first \(entry.firstSeen.rfc3339), "
                        + "last \(entry.lastSeen.rfc3339)")
            }
            if more > 0 { print("and \(more) notifications of other products, which are too many to keep by name") }
        }
        return entries.isEmpty && more == 0 ? 0 : 1
    }
}
