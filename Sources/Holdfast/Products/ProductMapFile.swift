import CacheTier
import Entitlements
import JSON
import Runtime
import Simulator

/// Product maps as files: read, and written for people to edit.
enum ProductMapFile {
    /// Everything that is wrong with a file.
    struct Unusable: Error {
        let path: String
        let problems: [String]
    }

    /// `-` is standard input.
    static func document(at path: String) throws(Unusable) -> ProductMapDocument {
        let bytes = try bytes(at: path)
        do { return try ProductMapDocument(parsing: bytes) } catch {
            throw Unusable(path: path, problems: error.problems)
        }
    }

    static func catalog(at path: String) throws(Unusable) -> Catalog {
        let bytes = try bytes(at: path)
        do { return try StoreKitFile.parse(bytes) } catch { throw Unusable(path: path, problems: ["\(error)"]) }
    }

    private static func bytes(at path: String) throws(Unusable) -> [UInt8] {
        do throws(SystemError) {
            let limit = ProductMapDocument.maximumBytes
            return try path == "-" ? File.standardInput(limit: limit) : File.bytes(at: path, limit: limit)
        } catch { throw Unusable(path: path, problems: ["\(error)"]) }
    }

    /// One line a product, with a remark behind those that have one.
    static func text(_ products: [String: ProductMap.Product], remarks: [String: String] = [:]) -> String {
        guard !products.isEmpty else { return "{\n    \"products\": {}\n}" }
        let ids = products.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let lines = ids.enumerated().map { index, id in
            let comma = index + 1 < ids.count ? "," : ""
            let remark = remarks[id].map { "  // \($0)" } ?? ""
            return "        \(line(id, products[id] ?? ProductMap.Product()))\(comma)\(remark)"
        }
        return "{\n    \"products\": {\n\(lines.joined(separator: "\n"))\n    }\n}"
    }

    private static func line(_ id: String, _ product: ProductMap.Product) -> String {
        // The canonical form of a map of this product alone, without what is around it.
        let whole = ProductMapDocument(products: [id: product]).canonical
        let text = String(decoding: whole.dropFirst(#"{"products":{"#.utf8.count).dropLast(2), as: UTF8.self)
        return text
    }

    /// A map for the products of a `.storekit` file: groups and levels from the file, entitlements from `known`.
    static func text(_ catalog: Catalog, known: ProductMap) -> String {
        var products = known.products
        var remarks: [String: String] = [:]
        for product in catalog.products.values {
            var entry = known[product.id] ?? ProductMap.Product()
            if case .autoRenewable(let group, let level, _) = product.kind {
                (entry.group, entry.level) = (group, level)
            }
            products[product.id] = entry
            if known[product.id] == nil { remarks[product.id] = "new: say what it gives" }
        }
        return text(products, remarks: remarks)
    }
}
