internal import Redis

/// Sends the store's commands and scripts, and gives failures as the store's.
struct StoreLink: Sendable {
    let redis: any RedisCommands

    func send(
        _ command: RedisArgument, _ key: String, _ rest: [RedisArgument] = []
    ) async throws(StoreError) -> RedisReply {
        do { return try await redis.send([command, .text(key)] + rest) } catch {
            if error.isWrongType { throw .unreadable(key: key, reason: error.message, isNewer: false) }
            throw .redis(error)
        }
    }

    /// The number that a script answers; nil for 0, which says that something is no longer as it was seen.
    func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(StoreError) -> UInt64? {
        let reply: RedisReply
        do { reply = try await redis.evaluate(script, keys: keys, arguments: arguments) } catch { throw .redis(error) }
        guard let number = reply.integer else { throw .redis(RedisError(.unexpectedReply, "\(reply)")) }
        return number > 0 ? UInt64(number) : nil
    }

    /// Carries out the same for each of several, at the same time; the results are in the order of what was given.
    func each<Subject: Sendable, Value: Sendable>(
        _ subjects: [Subject], _ body: @escaping @Sendable (StoreLink, Subject) async throws(StoreError) -> Value
    ) async throws(StoreError) -> [Value] {
        let results = await withTaskGroup(of: (Int, Result<Value, StoreError>).self) { group in
            for (index, subject) in subjects.enumerated() {
                group.addTask {
                    do throws(StoreError) { return (index, .success(try await body(self, subject))) } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var values: [Value] = []
        for index in subjects.indices {
            if let value = try results[index]?.get() { values.append(value) }
        }
        return values
    }
}
