import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { containedNames } from "./contained-names.ts"

const FILES = {
  read: async (path: string) => await readFile(path),
  list: async (path: string) =>
    (await readdir(path, { withFileTypes: true })).map((entry) => ({
      name: entry.name,
      kind: entry.isDirectory() ? ("directory" as const) : ("file" as const),
    })),
}

/** A tar entry: the header has the name at 0, the size at 124, the type at 156 and the prefix at 345. */
function tarEntry(name: string, { text = "", type = "0", prefix = "" } = {}): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write(text.length.toString(8).padStart(11, "0"), 124)
  header.write(type, 156)
  header.write(prefix, 345)
  const content = Buffer.alloc(Math.ceil(text.length / 512) * 512)
  content.write(text)
  return Buffer.concat([header, content])
}

function zipEntry(name: string): Buffer {
  const header = Buffer.alloc(30)
  header.write("PK\u0003\u0004", 0, "latin1")
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, Buffer.from(name), Buffer.from("content")])
}

test("the names in directories and archives are read, and those of anything else are not known", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  await mkdir(at("tree/.vscode"), { recursive: true })
  await mkdir(at("tree/node_modules/x"), { recursive: true })
  await writeFile(at("tree/.vscode/tasks.json"), "")
  const long = `${"d/".repeat(60)}.envrc`
  const tar = Buffer.concat([
    tarEntry("a.txt", { text: "x".repeat(700) }),
    tarEntry("././@LongLink", { text: `${long}\0`, type: "L" }),
    tarEntry("cut off"),
    tarEntry("pax", { text: "14 path=AGENTS.md\n", type: "x" }),
    tarEntry("cut off"),
    tarEntry("hooks/pre-commit", { prefix: ".git" }),
    Buffer.alloc(1024),
  ])
  await writeFile(at("a.tar"), tar)
  await writeFile(at("a.tgz"), gzipSync(tar))
  await writeFile(at("cut.tar.gz"), gzipSync(tar).subarray(0, -8))
  await writeFile(at("a.zip"), Buffer.concat([zipEntry(".envrc"), zipEntry("src/a.ts")]))
  await writeFile(at("noise.zip"), "PK\u0003\u0004")
  await writeFile(at("noise.tar"), "x".repeat(2000))
  await writeFile(at("file"), "")
  const inTar = ["a.txt", long, "AGENTS.md", ".git/hooks/pre-commit"]
  const names = async (name: string): Promise<readonly string[] | undefined> => {
    const found = await containedNames(at(name), FILES)
    return found?.toSorted()
  }
  expect(await names("tree")).toEqual([".vscode", ".vscode/tasks.json", "node_modules"])
  expect(await names("a.tar")).toEqual(inTar.toSorted())
  expect(await names("a.tgz")).toEqual(inTar.toSorted())
  expect(await names("cut.tar.gz")).toEqual(inTar.toSorted())
  expect(await names("a.zip")).toEqual([".envrc", "src/a.ts"])
  expect(await names("noise.zip")).toEqual([])
  expect(await names("noise.tar")).toEqual([])
  expect(await names("file")).toBeUndefined()
  expect(await names("missing")).toBeUndefined()
})
