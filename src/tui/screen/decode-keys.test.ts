import { describe, expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { createKeyDecoder } from "./decode-keys.ts"
import type { InputEvent } from "./key-event.ts"

/** The events of the text, and those that a pause brings. */
function decode(text: string | Uint8Array, chunk = Number.POSITIVE_INFINITY): readonly InputEvent[] {
  const decoder = createKeyDecoder()
  const bytes = typeof text === "string" ? Buffer.from(text) : text
  const events: InputEvent[] = []
  for (let start = 0; start < bytes.length; start += chunk)
    events.push(...decoder.feed(bytes.subarray(start, start + chunk)))
  return [...events, ...decoder.timeout()]
}

function chords(text: string): string {
  return decode(text)
    .map((event) => (event.type === "key" ? event.chord : event.type))
    .join(" ")
}

describe("keys", () => {
  test.each([
    // Characters
    ["aA?é日😀", "a A ? é 日 😀"],
    [" ", "space"],
    ["\r", "enter"],
    ["\n", "ctrl+j"],
    ["\r\n", "enter"],
    ["\r\n\n", "enter ctrl+j"],
    ["\t", "tab"],
    ["\u{7F}\b", "backspace backspace"],
    ["\u{0}\u{1}\u{3}\u{1A}\u{1C}\u{1D}\u{1E}\u{1F}", "ctrl+space ctrl+a ctrl+c ctrl+z ctrl+\\ ctrl+] ctrl+^ ctrl+_"],
    // Escape and Alt
    ["\u{1B}", "escape"],
    ["\u{1B}\u{1B}", "escape escape"],
    ["\u{1B}b\u{1B}B\u{1B}é", "alt+b alt+shift+b alt+é"],
    ["\u{1B}\r", "alt+enter"],
    ["\u{1B}\u{7F}", "alt+backspace"],
    ["\u{1B}\u{12}", "ctrl+alt+r"],
    ["\u{1B} ", "alt+space"],
    ["\u{1B}[", "alt+["],
    ["\u{1B}O", "alt+shift+o"],
    ["\u{1B}]", "alt+]"],
    ["\u{1B}]x", "alt+] x"],
    ["\u{1B}Px", "alt+shift+p x"],
    ["\u{1B}\u{1B}x", "escape alt+x"],
    // xterm, tmux, Windows Terminal
    [
      "\u{1B}[A\u{1B}OA\u{1B}[1;5D\u{1B}[1;2C\u{1B}[1;3B\u{1B}[1;8H",
      "up up ctrl+left shift+right alt+down ctrl+alt+shift+home",
    ],
    ["\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~", "home end home end home end"],
    ["\u{1B}[2~\u{1B}[3~\u{1B}[5~\u{1B}[6~\u{1B}[3;5~", "insert delete pageup pagedown ctrl+delete"],
    ["\u{1B}OP\u{1B}OS\u{1B}[15~\u{1B}[17~\u{1B}[24~\u{1B}[1;2P\u{1B}[1;5R", "f1 f4 f5 f6 f12 shift+f1 ctrl+f3"],
    ["\u{1B}[Z\u{1B}[1;6Z", "shift+tab ctrl+shift+tab"],
    ["\u{1B}[E\u{1B}[5C", "clear ctrl+right"],
    // rxvt, the Linux console, Alt as a prefix
    ["\u{1B}[a\u{1B}Od\u{1B}[5$\u{1B}[5^\u{1B}[5@", "shift+up ctrl+left shift+pageup ctrl+pageup ctrl+shift+pageup"],
    ["\u{1B}[[A\u{1B}[[E", "f1 f5"],
    ["\u{1B}\u{1B}[A\u{1B}\u{1B}OD", "alt+up alt+left"],
    // The application keypad
    ["\u{1B}OM\u{1B}Oj\u{1B}Op\u{1B}Oy\u{1B}On", "enter * 0 9 ."],
    // CSI u and modifyOtherKeys
    ["\u{1B}[13;2u\u{1B}[13;5u\u{1B}[27;2;13~\u{1B}[27;5;13~", "shift+enter ctrl+enter shift+enter ctrl+enter"],
    ["\u{1B}[27u\u{1B}[9;5u\u{1B}[127;5u\u{1B}[32;5u", "escape ctrl+tab ctrl+backspace ctrl+space"],
    ["\u{1B}[99;5u\u{1B}[97;6u\u{1B}[97;7u\u{1B}[27;6;65~", "ctrl+c ctrl+shift+a ctrl+alt+a ctrl+shift+a"],
    ["\u{1B}[99;9u\u{1B}[99;69u", "super+c ctrl+c"],
    ["\u{1B}[97:65;2u\u{1B}[57414u\u{1B}[57399u\u{1B}[57376u", "A enter 0 f13"],
    ["\u{1B}[97;5:3u\u{1B}[57358u\u{1B}[57441;2u\u{1B}[1;1:3A", ""],
  ])("%j", (bytes, expected) => {
    expect(chords(bytes)).toBe(expected)
  })

  test("only characters without Ctrl and Alt have a text", () => {
    expect(decode("é \u{1B}x\u{3}\u{1B}[97:65;2u\r").map((event) => ("text" in event ? event.text : ""))).toEqual([
      "é",
      " ",
      "",
      "",
      "A",
      "",
    ])
  })

  test("Ctrl+J after Enter is a key of its own when there was a pause", () => {
    const decoder = createKeyDecoder()
    const enter = decoder.feed(Buffer.from("\r"))
    expect([decoder.waiting, enter.length, decoder.timeout(), decoder.waiting]).toEqual([true, 1, [], false])
    expect(decoder.feed(Buffer.from("\n"))).toEqual([{ type: "key", chord: "ctrl+j", text: "" }])
  })

  test("a newline from before raw mode is Enter", () => {
    expect(createKeyDecoder().feed(Buffer.from("a\n"), { typedBefore: true })).toEqual([
      { type: "key", chord: "a", text: "a" },
      { type: "key", chord: "enter", text: "" },
    ])
  })
})

describe("reports of the terminal", () => {
  test.each([
    ["a cursor report", "\u{1B}[24;80R"],
    ["device attributes", "\u{1B}[?62;22c\u{1B}[>c"],
    ["a mode report", "\u{1B}[?2026;2$y"],
    ["keyboard flags", "\u{1B}[?1u"],
    ["the mouse", "\u{1B}[<35;10;20M\u{1B}[<0;1;1m\u{1B}[M !!\u{1B}[32;10;20M"],
    ["a device status", "\u{1B}[0n"],
    ["a window size", "\u{1B}[8;24;80t"],
    ["the terminal's version", "\u{1B}P>|XTerm(370)\u{1B}\\"],
    ["a graphics reply", "\u{1B}_Gi=31;OK\u{1B}\\"],
    ["a stray end of a paste", "\u{1B}[201~"],
    ["an input record of Windows", "\u{1B}[65;30;97;1;0;1_"],
    ["damaged UTF-8", "\u{FFFD}"],
  ])("%s never becomes text", (_, bytes) => {
    expect(decode(bytes)).toEqual([])
    expect(chords(`a${bytes}b`)).toBe("a b")
    expect(decode(bytes, 1)).toEqual([])
  })

  test("the background colour, the focus and the kind of terminal are reported", () => {
    expect(decode("\u{1B}[>41;370;0cx")).toEqual([
      { type: "terminal-kind", kind: 41 },
      { type: "key", chord: "x", text: "x" },
    ])
    expect(decode("\u{1B}]11;rgb:ffff/ffff/ffff\u{1B}\\x\u{1B}]11;rgb:0/0/0\u{7}\u{1B}[I\u{1B}[O")).toEqual([
      { type: "osc", payload: "11;rgb:ffff/ffff/ffff" },
      { type: "key", chord: "x", text: "x" },
      { type: "osc", payload: "11;rgb:0/0/0" },
      { type: "focus", focused: true },
      { type: "focus", focused: false },
    ])
  })

  test("a report without an end does not swallow the next command", () => {
    expect(chords("\u{1B}]11;rgb:ff\u{3}")).toBe("ctrl+c")
    expect(chords("\u{1B}]11;rgb:ff\u{1B}[A")).toBe("up")
    expect(chords(`\u{1B}]11;${"x".repeat(100_000)}\u{7}a\r`)).toBe("a enter")
    expect(chords(`\u{1B}[${"1;".repeat(50_000)}Ab`)).toBe("b")
  })
})

describe("pastes", () => {
  test("line ends are newlines, and nothing in it is a key", () => {
    expect(decode("\u{1B}[200~a\r\nb\rc\td\u{1B}[31me\u{3}\u{1B}[200~f\u{1B}[201~g")).toEqual([
      { type: "paste", text: "a\nb\nc\tdef" },
      { type: "key", chord: "g", text: "g" },
    ])
    expect(decode("\u{1B}[200~\u{1B}[201~")).toEqual([{ type: "paste", text: "" }])
  })

  test("10 MB are one event, in time that grows with the length", () => {
    const text = `${"0123456789日\n".repeat(100)}\u{1B}[20m`.repeat(7000)
    const [event, ...rest] = decode(`\u{1B}[200~${text}\u{1B}[201~`, 4093)
    expect(rest).toEqual([])
    expect(event?.type === "paste" && event.text.length).toBe("0123456789日\n".length * 700_000)
  })

  test.each(["\u{3}", "\u{1B}[99;5u", "\u{1B}[27;5;99~"])("Ctrl+C as %j ends a paste that lost its end", (ctrlC) => {
    expect(decode(`\u{1B}[200~abc${ctrlC}`, 1)).toEqual([{ type: "paste", text: "abc" }])
  })

  test("without Ctrl+C a pause changes nothing", () => {
    const decoder = createKeyDecoder()
    decoder.feed(Buffer.from("\u{1B}[200~abc"))
    expect(decoder.timeout()).toEqual([])
    expect(decoder.feed(Buffer.from("d\u{1B}[201~"))).toEqual([{ type: "paste", text: "abcd" }])
  })
})

test("any bytes in any chunks give the same events", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u{1B}", "\u{1B}[", "\u{1B}O", "\u{1B}]11;", "\u{1B}P1", "\u{7}", "\u{1B}\\", "\r", "\n", "\u{3}"),
    fc.constantFrom(
      "\u{1B}[200~",
      "\u{1B}[201~",
      "\u{1B}[1;5A",
      "\u{1B}[M",
      "\u{1B}[[A",
      "\u{1B}[5$",
      "\u{1B}[13;2u",
      "1;",
    ),
    fc.constantFrom(`\u{1B}]1${"9".repeat(9000)}`, `\u{1B}[${"9".repeat(9000)}`),
  )
  const bytes = fc
    .array(
      fc.oneof(
        piece.map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 6 }).map((raw) => Buffer.from(raw)),
      ),
      {
        maxLength: 12,
      },
    )
    .map((parts) => Buffer.concat(parts))
  fc.assert(
    fc.property(bytes, fc.array(fc.nat({ max: 30_000 }), { maxLength: 20 }), (input, cuts) => {
      const decoder = createKeyDecoder()
      const ends = [...cuts.map((cut) => cut % (input.length + 1)), input.length].sort((a, b) => a - b)
      const events: InputEvent[] = []
      let start = 0
      for (const end of ends) {
        events.push(...decoder.feed(input.subarray(start, end)))
        start = end
      }
      events.push(...decoder.timeout())
      expect(JSON.stringify(events)).toBe(JSON.stringify(decode(input)))
      expect(events.some((event) => event.type === "key" && /\p{Cc}/u.test(event.text))).toBe(false)
    }),
    { numRuns: 120 },
  )
})
