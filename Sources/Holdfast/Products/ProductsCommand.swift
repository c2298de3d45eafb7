import Entitlements
import Runtime

/// `holdfast products`: the versions of the product map.
enum ProductsCommand {
    static let summary = "shows, checks and publishes what each product gives"
    static let help = """
        usage: holdfast products list|unmapped|recompute [OPTIONS]
               holdfast products show [VERSION] [OPTIONS]
               holdfast products diff A B [OPTIONS]
               holdfast products check FILE [--samples N] [OPTIONS]
               holdfast products publish FILE [--comment TEXT] [--by TEXT] [--expect VERSION] [--allow-unmapped] [OPTIONS]
               holdfast products import FILE.storekit [OPTIONS]

        The product map says what each product id that was ever sold gives. The one in the settings counts until one is
        published; from then on the published one counts in every process, a few seconds later and without a restart.
        Published versions are numbered and never change; version 0 is the settings' map. To go back, publish an older one
        again: holdfast products show 3 > map.json.

        A file is JSON with // comments: {"products": {"pro.yearly": {"entitlements": ["pro"], "group": "main", "level": 1}}};
        a non-renewing one may have a "duration" such as "90d", and one with "entitlements": [] is known and gives nothing.

        list       all versions, who published them, and whether all customers have been told
        show       one version as a file (VERSION: a number, current or settings; current by default)
        diff       how two versions differ; a FILE may stand for either
        check      a dry run: looks at every customer, and says for each entitlement who would gain and lose it, and which
                   products the map would not know
        publish    checks, publishes, and then tells of every customer whose answer is another one (entitlement.changed,
                   cause map). Refused if another version counts than was checked against, or if it drops a product that
                   somebody has (--allow-unmapped: all the same). Reads go on all the while
        recompute  goes on telling where it was interrupted; a running consumer does so by itself
        unmapped   products that notifications brought and the map does not know: these customers have bought and get nothing
        import     writes a file for the products of an Xcode .storekit file, with what the current map gives them

          --app ID         the app, if the settings have several
          --samples N      name so many customers of each kind, default 5
          --comment TEXT   why, kept with the version
          --by TEXT        who, kept with the version; by default $USER
          --expect VERSION refuse if another version counts
          --allow-unmapped publish even if somebody has a product that the map drops
          --json           answer as JSON
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Progress goes to standard error. Exit codes: 0 fine, 1 the file is wrong, it was refused, there is no such version,
        or there are unmapped products, 2 usage, 3 Redis or RabbitMQ is unreachable; what was published counts all the same.
        """

    private static let verbs = ["list", "show", "diff", "check", "publish", "recompute", "unmapped", "import"]

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["app", "samples", "comment", "by", "expect", "settings"],
            flags: ["json", "allow-unmapped"])
        guard let verb = arguments.operands.first else {
            throw UsageError("products takes one of \(verbs.joined(separator: ", "))")
        }
        let operands = Array(arguments.operands.dropFirst())
        guard let takes = operandCounts[verb] else {
            let nearest = NearestName.to(verb, among: verbs)
            throw UsageError(
                "products takes one of \(verbs.joined(separator: ", ")), not \(verb)"
                    + (nearest.map { "; did you mean \($0)?" } ?? ""))
        }
        guard operands.count <= takes.upperBound else {
            throw UsageError("\(operands[takes.upperBound]) is one word too many")
        }
        guard operands.count >= takes.lowerBound else { throw UsageError("products \(verb) is told too little") }
        for option in ["samples", "comment", "by", "expect"] where arguments.value(option) != nil {
            guard verb == "publish" || verb == "check" && option == "samples" else {
                throw UsageError("--\(option) does not go with \(verb)")
            }
        }
        if arguments.has("allow-unmapped"), verb != "publish" { throw UsageError("--allow-unmapped goes with publish") }
        do { return try await run(verb, operands, arguments) } catch let error as ProductsSession.NoSuchVersion {
            Console.error(error.sentence)
            return 1
        } catch let error as ProductMapFile.Unusable {
            for problem in error.problems { Console.error("\(error.path): \(Console.printable(problem))") }
            return 1
        }
    }

    private static let operandCounts: [String: ClosedRange<Int>] = [
        "list": 0...0, "show": 0...1, "diff": 2...2, "check": 1...1, "publish": 1...1, "recompute": 0...0,
        "unmapped": 0...0, "import": 1...1,
    ]

    private static func run(
        _ verb: String, _ operands: [String], _ arguments: CommandArguments
    ) async throws -> Int32 {
        let asJSON = arguments.has("json")
        switch verb {
        case "check", "publish":
            // What is wrong with the file is said whether or not Redis is there.
            let document = try ProductMapFile.document(at: operands[0])
            let request = ProductsPublishing.Request(
                document: document, samples: try arguments.integer("samples", in: 0...1000) ?? 5,
                comment: arguments.value("comment") ?? "", by: arguments.value("by") ?? ProductsPublishing.user,
                expected: try arguments.integer("expect", in: 0...UInt64.max),
                allowsUnmapped: arguments.has("allow-unmapped"), asJSON: asJSON)
            return try await ProductsSession.with(arguments) { session in
                verb == "check"
                    ? try await ProductsPublishing.check(request, session)
                    : try await ProductsPublishing.publish(request, session)
            }
        default:
            return try await ProductsSession.with(arguments) { session in
                switch verb {
                case "list": try await ProductsViews.list(session, asJSON: asJSON)
                case "show": try await ProductsViews.show(operands.first, session, asJSON: asJSON)
                case "diff": try await ProductsViews.diff(operands[0], operands[1], session, asJSON: asJSON)
                case "unmapped": try await ProductsViews.unmapped(session, asJSON: asJSON)
                case "import": try await ProductsViews.storeKit(operands[0], session)
                default: try await ProductsPublishing.recompute(session, asJSON: asJSON)
                }
            }
        }
    }
}
