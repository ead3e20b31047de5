import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { createMarkReader } from "./run-marks.ts"
import type { RunMark } from "./run-marks.ts"

const RS = "\u001E"
const STREAM = `banner${RS}tag moved /a b${RS}${RS}tag started 42${RS}one${RS}two ${RS}tag three${RS}tag ended 7${RS}late`

function read(pieces: readonly string[]): { readonly text: string; readonly marks: readonly RunMark[] } {
  const marks: RunMark[] = []
  let text = ""
  const push = createMarkReader("tag", { text: (piece) => (text += piece), mark: (mark) => marks.push(mark) })
  for (const piece of pieces) push(piece)
  return { text, marks }
}

test("marks are taken out, and only the command's own text is shown", () => {
  expect(read([`banner${RS}tag started 1${RS}out${RS}tag ended 0${RS}`])).toEqual({
    text: "out",
    marks: [
      { kind: "started", pid: 1 },
      { kind: "ended", code: 0 },
    ],
  })
  expect(read([`${RS}tag missing${RS}`]).marks).toEqual([{ kind: "no-directory", why: "missing" }])
})

test("wherever the stream is cut, the same comes out", () => {
  const whole = {
    text: `one${RS}two ${RS}tag three`,
    marks: [
      { kind: "moved", to: "/a b" },
      { kind: "started", pid: 42 },
      { kind: "ended", code: 7 },
    ],
  }
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length), { maxLength: 8 }), (cuts) => {
      const edges = [0, ...cuts.toSorted((one, other) => one - other), STREAM.length]
      const pieces = edges.slice(1).map((end, index) => STREAM.slice(edges[index], end))
      expect(read(pieces)).toEqual(whole)
    }),
  )
})

test("text that could become a mark is held back, other text is not", () => {
  const seen: string[] = []
  const push = createMarkReader("tag", { text: (piece) => seen.push(piece), mark: () => undefined })
  push(`${RS}tag started 1${RS}`)
  push("Password: ")
  push(`x${RS}ta`)
  push("ble")
  expect(seen).toEqual(["Password: ", "x", `${RS}table`])
})
