internal import AppStore
internal import Entitlements
internal import Runtime

/// The last product map that this machine has seen of each app, in a folder of its own: what counts after a start without
/// Redis. Processes may share a folder.
///
/// A file is `holdfast-map 1 <SHA-256 of the rest>`, a line of facts, and the document as it was published.
struct ProductMapDisk: Sendable {
    enum Found: Sendable {
        case nothing
        case map(PublishedProductMap)
        /// Something that is none, and where it was put.
        case setAside(reason: String, at: String)
        case failure(SystemError)
    }

    let folder: String

    private static let heading = "holdfast-map 1 "

    private func path(_ app: AppID) -> String { "\(folder)/\(StorageLayout.escaped(app.rawValue)).map" }

    func save(_ map: PublishedProductMap, of app: AppID) throws(SystemError) {
        let rest = map.facts.bytes + [UInt8(ascii: "\n")] + map.document.canonical
        try File.makeFolder(folder)
        try File.replace(path(app), with: Array("\(Self.heading)\(SHA256.hexadecimal(rest))\n".utf8) + rest)
    }

    func load(_ app: AppID) -> Found {
        let path = path(app)
        let bytes: [UInt8]
        do { bytes = try File.regularBytes(at: path, limit: ProductMapDocument.maximumBytes + 65_536) } catch {
            return error.isNoSuchFile ? .nothing : .failure(error)
        }
        do { return .map(try Self.decode(bytes)) } catch {
            let aside = "\(path).unreadable"
            do throws(SystemError) { try File.move(path, to: aside) } catch { return .failure(error) }
            return .setAside(reason: "\(error)", at: aside)
        }
    }

    private static func decode(_ bytes: [UInt8]) throws(PublishedProductMap.Unreadable) -> PublishedProductMap {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3 else { throw PublishedProductMap.Unreadable("it is cut off") }
        let rest = Array(bytes[lines[1].startIndex...])
        guard lines[0].elementsEqual("\(heading)\(SHA256.hexadecimal(rest))".utf8) else {
            throw PublishedProductMap.Unreadable("its bytes do not have its digest")
        }
        guard let facts = PublishedProductMap.Facts(Array(lines[1])) else {
            throw PublishedProductMap.Unreadable("its facts cannot be read")
        }
        return try PublishedProductMap(facts: facts, canonical: Array(lines[2]))
    }
}
