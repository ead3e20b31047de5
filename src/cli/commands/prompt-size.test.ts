import { mkdirSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"

import { createCliHome } from "../../../test/support/cli-home.ts"

interface Row {
  readonly layer: string
  readonly bytes: number
  readonly tokens: number
  readonly reduced?: true
}

/** Otherwise the rules files of the current directory would be counted too. */
const variables = { HERMES_IGNORE_RULES: "1" }

test("measures every layer and the tool schemas without a key or a network", async () => {
  using home = createCliHome()
  const { code, out, err } = await home.run(["prompt-size", "--json"], { variables })
  const sizes = JSON.parse(out) as { readonly layers: readonly Row[]; readonly total: Omit<Row, "layer"> }
  expect({ code, err }).toEqual({ code: 0, err: "" })
  expect(sizes.layers.map(({ layer }) => layer).slice(0, 3)).toEqual(["identity", "platform", "environment"])
  expect(sizes.layers.at(-1)?.layer).toMatch(/^tool schemas \(\d+\)$/u)
  expect(sizes.total).toEqual({
    bytes: sizes.layers.reduce((sum, { bytes }) => sum + bytes, 0),
    tokens: sizes.layers.reduce((sum, { tokens }) => sum + tokens, 0),
  })
})

test("the platform selects its layer", async () => {
  using home = createCliHome()
  const identity = "I am Iris."
  writeFileSync(home.home.file("SOUL.md"), identity)
  const sms = await home.run(["prompt-size", "--platform", "sms"], { variables })
  expect(sms.out).toMatch(/^identity +10 bytes {2}~ +3 tokens\nplatform +\d+ bytes/u)
  expect(sms.out).toMatch(/\ntotal +\d+ bytes {2}~ +\d+ tokens\n$/u)
  expect(await home.run(["prompt-size", "--platform", "nowhere"])).toEqual({
    code: 2,
    out: "",
    err: expect.stringMatching(/^`nowhere` is not a platform; use one of cli, /u),
  })
})

test("a reduced layer is marked", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file("config.yaml"), "prompt_budget:\n  layers:\n    user_profile: 20\n")
  const entries = Array.from({ length: 30 }, (_, index) => `fact number ${index}`)
  mkdirSync(home.home.file("memories"), { recursive: true })
  writeFileSync(home.home.file("memories", "USER.md"), entries.join("\n§\n"))
  const { out } = await home.run(["prompt-size"], { variables })
  expect(out).toMatch(/^user profile .+ {2}\(reduced to fit prompt_budget\)$/mu)
})
