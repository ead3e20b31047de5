import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { createMarkerReader } from "./run-markers.ts"
import type { RunMarker } from "./run-markers.ts"

const RS = "\u001E"
const STREAM = `banner${RS}tag moved /a b${RS}${RS}tag started 42${RS}one${RS}two ${RS}tag three${RS}tag ended 7${RS}late`

function read(pieces: readonly string[]): { readonly text: string; readonly markers: readonly RunMarker[] } {
  const markers: RunMarker[] = []
  let text = ""
  const push = createMarkerReader("tag", { text: (piece) => (text += piece), marker: (marker) => markers.push(marker) })
  for (const piece of pieces) push(piece)
  return { text, markers }
}

test("markers are removed, and only the command's own output is shown", () => {
  expect(read([`banner${RS}tag started 1${RS}out${RS}tag ended 0${RS}`])).toEqual({
    text: "out",
    markers: [
      { kind: "started", pid: 1 },
      { kind: "ended", code: 0 },
    ],
  })
  expect(read([`${RS}tag missing${RS}`]).markers).toEqual([{ kind: "no-directory", why: "missing" }])
})

test("chunk boundaries do not change the result", () => {
  const whole = {
    text: `one${RS}two ${RS}tag three`,
    markers: [
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

test("only text that could become a marker is held back", () => {
  const seen: string[] = []
  const push = createMarkerReader("tag", { text: (piece) => seen.push(piece), marker: () => undefined })
  push(`${RS}tag started 1${RS}`)
  push("Password: ")
  push(`x${RS}ta`)
  push("ble")
  expect(seen).toEqual(["Password: ", "x", `${RS}table`])
})
