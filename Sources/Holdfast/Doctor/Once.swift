import Synchronization

/// A question that is asked when somebody first needs the answer, and once however many do.
final class Once<Answer: Sendable>: Sendable {
    private let ask: @Sendable () async -> Answer
    private let task = Mutex<Task<Answer, Never>?>(nil)

    init(_ ask: @escaping @Sendable () async -> Answer) { self.ask = ask }

    func answer() async -> Answer {
        let task = task.withLock { task in
            let asked = task ?? Task { [ask] in await ask() }
            task = asked
            return asked
        }
        return await task.value
    }
}
