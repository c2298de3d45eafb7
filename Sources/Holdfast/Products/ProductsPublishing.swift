import CacheTier
import Entitlements
import Glibc
import JSON
import Runtime

/// The verbs of `holdfast products` that lead to a new version.
enum ProductsPublishing {
    struct Request {
        let document: ProductMapDocument
        let samples: Int
        let comment: String
        let by: String
        let expected: UInt64?
        let allowsUnmapped: Bool
        let asJSON: Bool
    }

    static var user: String { getenv("USER").map { String(cString: $0) } ?? "uid \(getuid())" }

    /// What was found out before anything is published.
    private struct Examination {
        let current: (version: UInt64, document: ProductMapDocument)
        let changes: ProductMapChanges
        let impact: ProductMapImpact

        var dropsWhatIsCarried: Bool { impact.lineagesDropped > 0 }
    }

    private static func examine(
        _ request: Request, over current: (version: UInt64, document: ProductMapDocument), _ session: ProductsSession
    ) async throws -> Examination {
        let impact = try await session.impact(of: request.document, over: current, samples: request.samples)
        return Examination(
            current: current, changes: ProductMapChanges(from: impact.old, to: impact.new), impact: impact)
    }

    // MARK: check

    static func check(_ request: Request, _ session: ProductsSession) async throws -> Int32 {
        let found = try await examine(request, over: session.current(), session)
        let isRefused = found.dropsWhatIsCarried
        if request.asJSON {
            print(json(request, session, found) { json in json.member("refused", isRefused) })
        } else {
            print(text(request, session, found))
            if isRefused { print("\n\(refusal(found))") }
        }
        return isRefused ? 1 : 0
    }

    private static func text(_ request: Request, _ session: ProductsSession, _ found: Examination) -> String {
        let name = found.current.version == 0 ? "the settings' map" : "version \(found.current.version)"
        return """
            \(session.app.id): \(name) counts. This map has \(request.document.products.count) products:
            \(found.changes.lines.joined(separator: "\n"))

            \(ProductMapImpactReport(impact: found.impact).text)
            """
    }

    private static func json(
        _ request: Request, _ session: ProductsSession, _ found: Examination, _ rest: (inout JSONWriter) -> Void
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("app", session.app.id.rawValue)
        json.member("current", found.current.version)
        json.member("sha256", request.document.digest)
        json.member("products", request.document.products.count)
        found.changes.write(to: &json)
        ProductMapImpactReport(impact: found.impact).write(to: &json)
        rest(&json)
        json.endObject()
        return json.text
    }

    private static func refusal(_ found: Examination) -> String {
        "This map drops products that \(found.impact.lineagesDropped) lineages carry. Keep each with \"entitlements\": [] "
            + "if it shall give nothing, or publish with --allow-unmapped."
    }

    // MARK: publish

    static func publish(_ request: Request, _ session: ProductsSession) async throws -> Int32 {
        let current = try await session.current()
        if let expected = request.expected, expected != current.version {
            Console.error("refused: version \(current.version) counts, not \(expected). Look at what it changed.")
            return 1
        }
        if current.version > 0, current.document.digest == request.document.digest {
            if !request.asJSON { print("Version \(current.version) says the same: nothing to publish.") }
            return try await recompute(session, asJSON: request.asJSON)
        }
        let found = try await examine(request, over: current, session)
        if !request.asJSON { print(text(request, session, found)) }
        if found.dropsWhatIsCarried, !request.allowsUnmapped {
            if request.asJSON { print(json(request, session, found) { $0.member("refused", true) }) }
            Console.error("refused: \(refusal(found))")
            return 1
        }
        let publication = try await session.store.publish(
            request.document, for: session.app.id, expecting: found.current.version, first: session.settingsDocument,
            by: request.by, comment: request.comment, at: session.clock.now())
        guard case .published(let version) = publication else {
            Console.error(
                "refused: somebody published meanwhile, so this is not what was checked. Look at theirs and try again.")
            return 1
        }
        if !request.asJSON {
            print("\nPublished as version \(version). It counts in every process within \(reach(session)).")
        }
        do {
            let done = try await session.recompute()
            print(
                request.asJSON
                    ? json(request, session, found) { json in
                        json.member("refused", false)
                        json.member("published", version)
                        write(done, to: &json)
                    } : told(done))
            return 0
        } catch {
            Console.error(
                "\(error)\nVersion \(version) counts; not everybody was told of it. A running consumer goes on, or "
                    + "holdfast products recompute.")
            return 3
        }
    }

    private static func reach(_ session: ProductsSession) -> String {
        session.settings.products.followEvery.settingText
    }

    // MARK: recompute

    static func recompute(_ session: ProductsSession, asJSON: Bool) async throws -> Int32 {
        let done = try await session.recompute()
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.member("app", session.app.id.rawValue)
            write(done, to: &json)
            json.endObject()
            print(json.text)
        } else {
            print(done.isEmpty ? "Nothing is left to be told." : told(done))
        }
        return 0
    }

    private static func told(_ done: [Recomputation]) -> String {
        done.map { one in
            let lines = StoreEnvironment.allCases.map { environment in
                let counts = one[environment]
                return
                    "  \(environment.rawValue): \(counts.customers) customers, \(counts.changed) with another answer, "
                    + "\(counts.gained) gained something, \(counts.lost) lost something"
            }
            return (["Told of everybody whose answer version \(one.version) changed:"] + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func write(_ done: [Recomputation], to json: inout JSONWriter) {
        json.array("recomputed", done) { json, one in
            json.beginObject()
            one.write(to: &json)
            json.endObject()
        }
    }
}
