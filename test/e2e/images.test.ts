import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { readImageHeader } from "../../src/llm/vision/image-header.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { refuses, reply, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { testImage } from "../support/test-image.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const WIDE = testImage({ width: 1200, height: 40, type: "png" })

/** The sizes of all images in a request, in order. */
function sizesIn(model: ModelServer, index: number): readonly string[] {
  const body = model.requests[index]?.rawBody ?? ""
  return [...body.matchAll(/data:image\/[a-z]+;base64,([A-Za-z0-9+/=]+)/g)].map(([, base64 = ""]) => {
    const facts = readImageHeader(Buffer.from(base64, "base64"))
    return `${facts?.width ?? 0}×${facts?.height ?? 0}`
  })
}

test("scales an image down when the server rejects it", async () => {
  const tooLarge = refuses(400, "image dimensions exceed max allowed size: 600 pixels")
  await using model = await startModelServer([tooLarge, says("A line.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  writeFileSync(join(home.workdir, "wide.png"), WIDE)
  const ran = await hermes(home, ["chat", "-q", "what is this?", "--image", "wide.png"], { stdin: "inherit-null" })
  expect([ran.code, ran.stdout.includes("A line.")]).toEqual([0, true])
  expect([sizesIn(model, 0), sizesIn(model, 1)]).toEqual([["1200×40"], ["600×20"]])
})

test("images that the model reads with tools are sent with the next request and after a resume", async () => {
  const looks = reply({ calls: ["one.png", "two.png"].map((path) => ({ name: "read_file", input: { path } })) })
  await using model = await startModelServer([looks, says("Two lines."), says("Still two.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  writeFileSync(join(home.workdir, "one.png"), testImage({ width: 11, height: 10, type: "png" }))
  writeFileSync(join(home.workdir, "two.png"), testImage({ width: 22, height: 10, type: "jpeg" }))
  const first = await hermes(home, ["-z", "what is on them?"], { stdin: "inherit-null" })
  const second = await hermes(home, ["-z", "and now?", "--continue"], { stdin: "inherit-null" })
  expect([first.stdout, second.stdout]).toEqual(["Two lines.\n", "Still two.\n"])
  expect([0, 1, 2].map((index) => sizesIn(model, index))).toEqual([[], ["11×10", "22×10"], ["11×10", "22×10"]])
})

test("a script says on stderr that an image was left out", async () => {
  await using model = await startModelServer([says("Cannot see it.")])
  const blind = settingsFor(model, "  supports_vision: false\n")
  await using home = await temporaryHome({ config: `${blind}  vision:\n    provider: none\n` })
  writeFileSync(join(home.workdir, "wide.png"), WIDE)
  const ran = await hermes(home, ["-z", "what is this?", "--image", "wide.png"], { stdin: "inherit-null" })
  expect([ran.code, ran.stdout]).toEqual([0, "Cannot see it.\n"])
  expect(ran.stderr).toMatch(/^The model test-model has no vision, and the images could not be described: /)
})

test("a missing image is a usage error", async () => {
  await using home = await temporaryHome()
  const ran = await hermes(home, ["chat", "-q", "what is this?", "--image", "gone.png"], { stdin: "inherit-null" })
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("does not exist") as string])
})

test("attaches images with --image, with /image and by dropping a file on the terminal", async () => {
  await using model = await startModelServer([says("First."), says("Second."), says("Third.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  for (const [name, width] of [
    ["one.png", 11],
    ["two.png", 22],
    ["my three.png", 33],
  ] as const) {
    writeFileSync(join(home.workdir, name), testImage({ width, height: 10, type: "png" }))
  }
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["chat", "--image", "one.png"],
    cwd: home.workdir,
    env: home.env,
  })
  const say = async (text: string, answer: string): Promise<void> => {
    terminal.type(text)
    terminal.press("enter")
    await terminal.waitFor(answer)
  }
  await terminal.waitFor("you>")
  await say("what is the first?", "First.")
  await say("/image two.png", "Attached two.png (22×10)")
  await say("and the second?", "Second.")
  await say(`'${join(home.workdir, "my three.png")}'`, "Attached my three.png (33×10)")
  await say("and the third?", "Third.")
  expect([0, 1, 2].map((index) => sizesIn(model, index))).toEqual([
    ["11×10"],
    ["11×10", "22×10"],
    ["11×10", "22×10", "33×10"],
  ])
  expect(model.view(2).messages.map(({ text }) => text)).toEqual([
    "what is the first?",
    "First.",
    "and the second?",
    "Second.",
    "and the third?",
  ])
})
