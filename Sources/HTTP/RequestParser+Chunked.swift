extension RequestParser {
    /// Takes one step through a chunked body; false when bytes are missing, and the state is back at `requestLine`
    /// after the last one.
    mutating func advanceChunked() throws(Refusal) -> Bool {
        switch state {
        case .chunkSize:
            guard let line = try line(upTo: limits.chunkLineBytes, .chunk) else { return false }
            let size = try chunkSize(line)
            if size > bodyLimit - body.count { throw .bodyTooLarge }
            if size == 0 {
                // The trailers get a budget of their own, in bytes and in number.
                headerBytes = 0
                state = .trailers
            } else {
                state = .chunkData(left: size)
            }
        case .chunkData(let left):
            let taken = takeBody(upTo: left)
            state = taken == left ? .chunkEnd(left: 2) : .chunkData(left: left - taken)
            return taken == left
        case .chunkEnd(let left):
            guard backlog > 0 else { return false }
            guard buffer[position] == (left == 2 ? .carriageReturn : .lineFeed) else { throw .chunk }
            position += 1
            scanned = position
            state = left == 2 ? .chunkEnd(left: 1) : .chunkSize
        case .trailers:
            guard let line = try line(upTo: limits.headerBytes - headerBytes, .headerTooLarge) else { return false }
            headerBytes += line.count + 2
            if line.isEmpty {
                state = .requestLine
            } else {
                try checkTrailer(line)
            }
        default: break
        }
        return true
    }

    /// Hexadecimal digits, then nothing or `;` and extensions, which are checked and not kept.
    private func chunkSize(_ line: Range<Int>) throws(Refusal) -> Int {
        let bytes = buffer.span
        var size = 0
        var index = line.lowerBound
        while index < line.upperBound, let digit = bytes[index].hexadecimalValue {
            // One digit more must stay below the sign bit.
            guard size < 1 << 59 else { throw .chunk }
            size = size << 4 | Int(digit)
            index += 1
        }
        guard index > line.lowerBound else { throw .chunk }
        if index == line.upperBound { return size }
        guard bytes[index] == UInt8(ascii: ";") else { throw .chunk }
        for index in index..<line.upperBound {
            guard bytes[index] >= .blank && bytes[index] != 127 || bytes[index] == .tab else { throw .chunk }
        }
        return size
    }
}
