import JSON

/// What libFuzzer calls: nothing crashes, and whoever reads, skips or reads member by member has the same verdict.
///
/// The first byte of the input chooses whether comments are allowed and how deep the text may nest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let text = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let allowsComments = start[0] & 1 == 1
    let depth = start[0] & 2 == 2 ? 64 : 3
    func reader() -> JSONReader { JSONReader(text, maximumDepth: depth, allowingComments: allowsComments) }

    var skipping = reader()
    let skipped = verdict { () throws(JSONError) in
        try skipping.skip()
        try skipping.finish()
    }
    var value: JSONValue?
    let read = verdict { () throws(JSONError) in
        value = try JSONValue.parse(text, maximumDepth: depth, allowingComments: allowsComments)
    }
    precondition(read == skipped, "reading and skipping disagree")
    guard let value else { return 0 }

    var writer = JSONWriter()
    writer.value(value)
    precondition((try? JSONValue.parse(writer.bytes)) == value, "written, it means something else")
    check(value)
    if let object = value.object {
        var names: [String] = []
        var walking = reader()
        let walked = verdict { () throws(JSONError) in
            try walking.readObject { (reader, key) throws(JSONError) in
                names.append(key.description)
                precondition(!(key == "status") || key.description == "status")
                try reader.skip()
            }
        }
        precondition(walked == nil && names == object.keys, "two readings of one object")
    }
    return 0
}

private func verdict(_ body: () throws(JSONError) -> Void) -> JSONError? {
    do throws(JSONError) { try body() } catch { return error }
    return nil
}

private func check(_ value: JSONValue) {
    switch value {
    case .number(let number):
        if let integer = number.int64, let double = number.double { precondition(Double(integer) == double) }
    case .array(let elements): for element in elements { check(element) }
    case .object(let object): for member in object.members { check(member.value) }
    case .null, .bool, .string: break
    }
}
