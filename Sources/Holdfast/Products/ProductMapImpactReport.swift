import CacheTier
import Entitlements
import JSON
import Time

/// What a product map would change for everybody, for people and for scripts.
struct ProductMapImpactReport {
    let impact: ProductMapImpact

    var text: String {
        var lines = ["As of \(impact.instant.rfc3339), sandbox counted apart:"]
        for environment in StoreEnvironment.allCases {
            let part = impact[environment]
            lines += [
                "",
                "\(environment.rawValue): \(part.customers) customers, \(part.unclaimed) unclaimed lineages, "
                    + "\(part.lineages) lineages in all",
                "  \(part.changed) customers get another answer; \(part.gained) gain something, \(part.lost) lose something",
            ]
            for (id, entitlement) in part.entitlements.sorted(by: { $0.key < $1.key }) {
                lines.append(
                    "  \(Console.printable(id)): \(entitlement.gain.count) gain it, \(entitlement.lose.count) lose it, "
                        + "\(entitlement.otherEnd.count) have it until another time")
                for (word, tally) in entitlement.tallies where !tally.samples.isEmpty {
                    let dots = UInt64(tally.samples.count) < tally.count ? ", …" : ""
                    lines.append(
                        "    \(word): \(Console.printable(tally.samples.sorted().joined(separator: ", ")))\(dots)")
                }
            }
            lines.append(
                "  lineages whose product the map does not know: \(part.unmappedBefore) before, "
                    + "\(part.unmappedAfter) after")
            for (product, count) in part.unmappedProducts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) })
                .prefix(20)
            {
                lines.append("    \(Console.printable(product)): \(count)")
            }
            for (product, count) in part.dropped.sorted(by: { $0.key < $1.key }) {
                lines.append("  dropped: \(Console.printable(product)), which \(count) lineages carry")
            }
        }
        if impact.unreadable > 0 {
            lines += ["", "\(impact.unreadable) holders are written by a newer version and were not counted."]
        }
        return lines.joined(separator: "\n")
    }

    func write(to json: inout JSONWriter) {
        json.member("asOf", impact.instant.rfc3339)
        json.member("unreadable", impact.unreadable)
        json.object("environments") { json in
            for environment in StoreEnvironment.allCases {
                json.object(environment.rawValue) { json in write(impact[environment], to: &json) }
            }
        }
    }

    private func write(_ part: ProductMapImpact.Part, to json: inout JSONWriter) {
        json.member("customers", part.customers)
        json.member("unclaimed", part.unclaimed)
        json.member("lineages", part.lineages)
        json.member("changed", part.changed)
        json.member("gained", part.gained)
        json.member("lost", part.lost)
        json.object("entitlements") { json in
            for (id, entitlement) in part.entitlements.sorted(by: { $0.key < $1.key }) {
                json.object(id) { json in
                    for (word, tally) in entitlement.tallies {
                        json.object(word) { json in
                            json.member("customers", tally.count)
                            json.array("samples", tally.samples.sorted()) { json, customer in json.string(customer) }
                        }
                    }
                }
            }
        }
        json.object("unmapped") { json in
            json.member("before", part.unmappedBefore)
            json.member("after", part.unmappedAfter)
            write("products", part.unmappedProducts, to: &json)
        }
        write("dropped", part.dropped, to: &json)
    }

    private func write(_ name: String, _ counts: [String: UInt64], to json: inout JSONWriter) {
        json.object(name) { json in
            for (product, count) in counts.sorted(by: { $0.key < $1.key }) { json.member(product, count) }
        }
    }
}

extension ProductMapImpact.Entitlement {
    fileprivate var tallies: [(String, ProductMapImpact.Tally)] {
        [("gain", gain), ("lose", lose), ("otherEnd", otherEnd)]
    }
}
