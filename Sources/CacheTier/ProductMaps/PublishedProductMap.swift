internal import AppStore
package import Entitlements
package import JSON
package import Time

/// One version of an app's product map, as it was published; never changed afterwards.
package struct PublishedProductMap: Sendable, Hashable {
    package struct Facts: Sendable, Hashable {
        /// From 1; 0 is the map that the settings had when the first one was published.
        package let version: UInt64
        package let publishedAt: Timestamp
        package let by: String
        package let comment: String
        /// SHA-256 of the canonical bytes, in hexadecimal.
        package let digest: String
        package let products: Int
    }

    package let facts: Facts
    package let document: ProductMapDocument

    package var version: UInt64 { facts.version }
    package var map: ProductMap { ProductMap(version: "\(facts.version)", products: document.products) }

    init(facts: Facts, document: ProductMapDocument) {
        self.facts = facts
        self.document = document
    }

    init(version: UInt64, document: ProductMapDocument, by: String, comment: String, at instant: Timestamp) {
        self.init(
            facts: Facts(
                version: version, publishedAt: instant, by: by, comment: comment, digest: document.digest,
                products: document.products.count),
            document: document)
    }

    /// Takes what was stored; nil when the bytes are not those that were published.
    init(facts: Facts, canonical: [UInt8]) throws(Unreadable) {
        guard SHA256.hexadecimal(canonical) == facts.digest else {
            throw Unreadable("its bytes do not have its digest")
        }
        do {
            self.init(facts: facts, document: try ProductMapDocument(parsing: canonical))
        } catch {
            // Written by a newer version, which knows more members.
            throw Unreadable("\(error)")
        }
    }

    package struct Unreadable: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }
}

extension PublishedProductMap.Facts: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("version", version)
        json.member("publishedAt", publishedAt.rfc3339)
        json.member("by", by)
        json.member("comment", comment)
        json.member("sha256", digest)
        json.member("products", products)
    }

    package init?(_ value: JSONValue) {
        guard let version = value["version"]?.int64, version >= 0, let publishedAt = value.instant("publishedAt"),
            let digest = value["sha256"]?.string, let products = value["products"]?.int64, products >= 0
        else { return nil }
        self.init(
            version: UInt64(version), publishedAt: publishedAt, by: value["by"]?.string ?? "",
            comment: value["comment"]?.string ?? "", digest: digest, products: Int(products))
    }
}
