import CacheTier
import Entitlements
import JSON
import Runtime

/// How one product map differs from another, product by product.
struct ProductMapChanges {
    let added: [(id: String, product: ProductMap.Product)]
    let removed: [(id: String, product: ProductMap.Product)]
    let changed: [(id: String, before: ProductMap.Product, after: ProductMap.Product)]

    init(from old: ProductMap, to new: ProductMap) {
        let ids = Set(old.products.keys).union(new.products.keys).sorted()
        added = ids.compactMap { id in old[id] == nil ? new[id].map { (id, $0) } : nil }
        removed = ids.compactMap { id in new[id] == nil ? old[id].map { (id, $0) } : nil }
        changed = ids.compactMap { id in
            guard let before = old[id], let after = new[id], before != after else { return nil }
            return (id, before, after)
        }
    }

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

    /// One line a product.
    var lines: [String] {
        if isEmpty { return ["  the same products, giving the same"] }
        return added.map { "  + \(Console.printable($0.id))  \($0.product.sentence)" }
            + removed.map { "  - \(Console.printable($0.id))  \($0.product.sentence)" }
            + changed.map { "  ~ \(Console.printable($0.id))  \($0.before.sentence) → \($0.after.sentence)" }
    }

    func write(to json: inout JSONWriter) {
        json.object("changes") { json in
            json.array("added", added) { json, entry in json.string(entry.id) }
            json.array("removed", removed) { json, entry in json.string(entry.id) }
            json.array("changed", changed) { json, entry in json.string(entry.id) }
        }
    }
}

extension ProductMap.Product {
    /// What it gives, for people.
    var sentence: String {
        var parts = [entitlements.isEmpty ? "gives nothing" : "gives \(entitlements.sorted().joined(separator: ", "))"]
        if let group { parts.append("group \(group)") }
        if let level { parts.append("level \(level)") }
        if let duration { parts.append("for \(duration.settingText)") }
        return Console.printable(parts.joined(separator: "; "))
    }
}
