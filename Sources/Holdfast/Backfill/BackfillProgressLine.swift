import CacheTier
import Synchronization

/// A line of progress that several lanes write to.
final class BackfillProgressLine: Sendable {
    private let line: Mutex<ProgressLine>

    init(_ what: String) { line = Mutex(ProgressLine(what)) }

    func show(_ job: RecoveryJob, _ before: String = "") {
        let figures = job.history.figures
        line.withLock {
            $0.show(job.fraction, "\(before)\(figures.sent) sent by Apple, \(figures.new) of them not with us")
        }
    }

    func clear() { line.withLock { $0.clear() } }
}
