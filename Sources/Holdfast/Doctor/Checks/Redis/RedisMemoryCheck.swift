import Redis

/// Whether Redis has room, and refuses instead of forgetting when it has none.
struct RedisMemoryCheck: Check {
    let name = "redis memory"
    let patient: Patient

    func examine() async -> Finding {
        await patient.withRedisServers { server throws(RedisError) in
            let info = server.info
            var findings: [Finding] = []
            let policy = info["maxmemory_policy"] ?? "unknown"
            if policy != "noeviction" {
                findings.append(
                    .wrong(
                        "maxmemory-policy is \(policy): when it is full it forgets customers",
                        "redis-cli CONFIG SET maxmemory-policy noeviction; redis-cli CONFIG REWRITE"))
            }
            if let evicted = info.number("evicted_keys"), evicted > 0 {
                findings.append(
                    .wrong(
                        "\(evicted) keys have been evicted since it was started: records are missing",
                        "Set the policy above and give it more memory; the ledger has what was lost."))
            }
            let used = info.number("used_memory") ?? 0
            let limit = info.number("maxmemory") ?? 0
            let room = limit > 0 ? limit : info.number("total_system_memory") ?? 0
            let sentence =
                "\(Size.text(UInt64(clamping: used))) of \(Size.text(UInt64(clamping: room)))"
                + (limit > 0 ? " (maxmemory)" : " (its machine's memory; no maxmemory)")
            if room > 0, used >= room / 100 * 95 {
                findings.append(.wrong("\(sentence) is used: it refuses writes", "Give it more memory."))
            } else if room > 0, used >= room / 100 * 80 {
                findings.append(.warning("\(sentence) is used", "Give it more memory before it is full."))
            }
            return .of(findings, otherwise: "\(sentence), noeviction")
        }
    }
}
