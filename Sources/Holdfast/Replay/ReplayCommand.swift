import Broker
import CacheTier
import Entitlements
import Glibc
import Replay
import Runtime

/// `holdfast replay`: folds the ledger, or files in its place, and compares, writes, explains or applies what comes of it.
enum ReplayCommand {
    static let summary = "folds the ledger anew: compares it with Redis, rebuilds Redis, or asks about the past"
    static let help = """
        usage: holdfast replay [FILE…] [--compare live | --out STATE | --against STATE] [options]
               holdfast replay [FILE…] --customer ID [--as-known-at TIME] [--at TIME] [--entitlement ID] [options]
               holdfast replay [FILE…] --apply --yes [--rate N] [options]
               holdfast replay --export FILE [--overwrite] [options]

        Reads the ledger from its oldest message to the one that is its newest now, verifies each message as the consumer
        does, as of the date on which it was received, and folds what Apple signed into a state in memory. What cannot be
        applied is counted and listed with its reason, as it lies in quarantine.

          --compare live      compare that state with Redis, lineage by lineage and member by member (this is what it
                              does when nothing else is asked); what changes meanwhile is looked at again
          --out STATE         write that state to a file, in the order of its keys, with what each record means
          --against STATE     compare with such a file, which another version of holdfast may have written: the same
                              messages are folded and the answers made for the same instant, unless options say otherwise
          --customer ID       explain what a customer has, by what the ledger has; --as-known-at leaves out what was
                              received later, asks about that instant if --at names no other, and uses the product map
                              that was in force then
          --apply --yes       apply everything to the live Redis, to rebuild it from nothing or to repair it; what is known
                              changes nothing, so it may be interrupted and repeated. Nothing goes to the exchange events
          --export FILE       write the messages themselves to a file, a line each, to be given as FILE later;
                              --overwrite replaces a file that is there

        FILE is such an export; or has a notification body (or a bare JWS) in each line, or is one body. Bodies that stand
        by themselves need --app.

          --from PLACE        first (default), an offset, or a time: read from there
          --to PLACE          an offset, or a time: leave out what was received later
          --app ID, --environment NAME
                              only these
          --at TIME           make answers for then (default now)
          --rate N            --apply so many a second at most, default 2000
          --limit N           show so many differences, default 100
          --max-lineages N    give up beyond so many lineages, default 2000000; about 1.5 KB of memory each, more for long
                              histories
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        SIGINT ends it in good order. Progress goes to standard error.

        Exit codes: 0 fine (equal; the customer has it; applied), 1 not (differences; the customer has not; something
        could not be applied over what is stored), 2 usage, 3 RabbitMQ or Redis is unreachable, 130 interrupted.
        """

    static let interrupted: Int32 = 130

    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try ReplayOptions(arguments)
        let settings = try HoldfastSettings.load(path: options.settings)
        if let app = options.app { _ = try settings.app(named: app.rawValue) }
        let interruption = Interruption()
        let signals = ProcessSignal.ofThisProcess()
        let listening = Task(name: "signals") {
            for await case .terminate in signals {
                if interruption.isRequested { exit(interrupted) }
                interruption.request()
            }
        }
        defer { listening.cancel() }
        do {
            return try await ReplaySession.with(options, settings, interruption) { session in try await session.run() }
        } catch let error as ReplayError {
            Console.error("\(error)")
            switch error {
            case .broker, .store: return 3
            case .file, .tooManyLineages: return 2
            case .unreadableRecord: return 1
            }
        }
    }
}
