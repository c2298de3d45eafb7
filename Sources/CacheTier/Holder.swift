package import Entitlements

/// Who has a lineage: a customer, or nobody yet.
package enum Holder: Sendable, Hashable, Comparable, CustomStringConvertible {
    case customer(String)
    /// The pseudo-holder of one lineage, by its original transaction id.
    case unclaimed(String)

    /// Who has a lineage by its facts and the app's policy, in the order of their ids; never empty.
    package static func all(of record: LineageRecord, under policy: TransferPolicy) -> [Holder] {
        let customers = record.customers(under: policy)
        guard !customers.isEmpty else { return [.unclaimed(record.lineage.originalTransactionID)] }
        return customers.map { .customer($0) }.sorted()
    }

    /// Nil while nobody has claimed the lineage.
    package var customer: String? {
        switch self {
        case .customer(let id): id
        case .unclaimed: nil
        }
    }

    /// As it stands in keys and locators: see `StorageLayout`.
    var id: String {
        switch self {
        case .customer(let id): StorageLayout.escaped(id)
        case .unclaimed(let id): "unclaimed:\(StorageLayout.escaped(id))"
        }
    }

    init?(id: String) {
        if id.hasPrefix("unclaimed:") {
            guard let lineage = StorageLayout.unescaped(id.dropFirst("unclaimed:".count)) else { return nil }
            self = .unclaimed(lineage)
        } else {
            guard let customer = StorageLayout.unescaped(id) else { return nil }
            self = .customer(customer)
        }
    }

    package var description: String { id }

    // By bytes: Swift takes two spellings of an accented letter for one string, Redis does not.
    package static func == (a: Holder, b: Holder) -> Bool { a.id.utf8.elementsEqual(b.id.utf8) }
    package func hash(into hasher: inout Hasher) { hasher.combine(id) }

    package static func < (a: Holder, b: Holder) -> Bool { a.id.utf8.lexicographicallyPrecedes(b.id.utf8) }

    /// The key of the holder's hash, without its partition.
    func path(_ app: AppID, _ environment: StoreEnvironment) -> String {
        "\(StorageLayout.scope(app, environment)):holder:\(id)"
    }
}

/// Names a customer of one app in one environment, as backends do.
package struct CustomerKey: Sendable, Hashable, CustomStringConvertible {
    package let app: AppID
    package let environment: StoreEnvironment
    package let customer: String
    /// Escaped, and all that makes two keys equal.
    let path: String
    let partition: Int

    /// An id that is a UUID is taken in lower case, as tokens are (ruling 1).
    package init(app: AppID, environment: StoreEnvironment, customer: String) {
        let customer = Self.isUUID(customer) ? customer.lowercased() : customer
        self.app = app
        self.environment = environment
        self.customer = customer
        path = Holder.customer(customer).path(app, environment)
        partition = StorageLayout.partition(of: path)
    }

    package static func == (a: CustomerKey, b: CustomerKey) -> Bool { a.path == b.path }
    package func hash(into hasher: inout Hasher) { hasher.combine(path) }

    package var description: String { path }

    private static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        return text.utf8.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default:
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
            }
        }
    }
}
