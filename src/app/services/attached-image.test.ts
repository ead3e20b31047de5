import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { dataUrl, testImage } from "../../../test/support/test-image.ts"
import { isImagePath, readAttachedImage } from "./attached-image.ts"

const PNG = testImage({ width: 30, height: 20, type: "png" })

test.each<[string, (directory: string) => string]>([
  ["an absolute path", (directory) => join(directory, "my photo.png")],
  ["a relative path", () => "my photo.png"],
  ["a path below the home", () => "~/my photo.png"],
  ["a dropped file, quoted", (directory) => `'${join(directory, "my photo.png")}' `],
  ["a dropped file, escaped", (directory) => join(directory, "my\\ photo.png")],
  ["a file URL", (directory) => pathToFileURL(join(directory, "my photo.png")).href],
])("reads %s", async (_name, typedPath) => {
  await using home = await temporaryHome()
  writeFileSync(join(home.workdir, "my photo.png"), PNG)
  const context = { cwd: home.workdir, userHome: home.workdir }
  expect(await readAttachedImage(typedPath(home.workdir), context)).toEqual({
    ok: true,
    value: {
      name: "my photo.png",
      width: 30,
      height: 20,
      part: { type: "image_url", image_url: { url: dataUrl(PNG, "image/png") } },
    },
  })
})

test("the type comes from the header, not from the file name", async () => {
  await using home = await temporaryHome({ workFiles: { "text.png": "hello" } })
  writeFileSync(join(home.workdir, "photo.dat"), testImage({ width: 3, height: 2, type: "jpeg" }))
  const context = { cwd: home.workdir, userHome: "/" }
  const read = async (name: string) => await readAttachedImage(name, context)
  expect(await read("photo.dat")).toMatchObject({
    value: { part: { image_url: { url: expect.stringMatching(/^data:image\/jpeg;base64,/) as string } } },
  })
  const results = [await read("text.png"), await read("gone.png"), await read(".")]
  expect(results.map((result) => (result.ok ? "" : result.error.replaceAll(home.workdir, "…")))).toEqual([
    "…/text.png is not a PNG, JPEG, GIF or WebP image; convert it to one of them",
    "…/gone.png does not exist",
    "… is not a file",
  ])
})

test.each([
  ["/tmp/a.png", true],
  ["~/Pictures/a.JPEG", true],
  ["'/tmp/my photo.webp'", true],
  ["/tmp/my\\ photo.gif", true],
  ["file:///tmp/a.png", true],
  ["./a.png", true],
  ["a.png", false],
  ["look at /tmp/a.png", false],
  ["/tmp/a.png and /tmp/b.png", false],
  ["/tmp/a.txt", false],
])("isImagePath(%j) is %s", (line, expected) => {
  expect(isImagePath(line)).toBe(expected)
})
