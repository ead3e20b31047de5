import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync, zstdCompressSync } from "node:zlib"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { containedNames } from "./contained-names.ts"
import type { ContainedNames } from "./contained-names.ts"

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

/** A cpio entry in the new text format, with its parts padded to four bytes. */
function cpioEntry(name: string, text = ""): Buffer {
  const number = (value: number): string => value.toString(16).padStart(8, "0")
  const zeros = (count: number): string => number(0).repeat(count)
  const header = `070701${zeros(6)}${number(text.length)}${zeros(4)}${number(name.length + 1)}${zeros(1)}`
  const padded = (part: string): string => part.padEnd(Math.ceil(part.length / 4) * 4, "\0")
  return Buffer.from(`${padded(`${header}${name}\0`)}${padded(text)}`)
}

/** A cpio entry in the old text format of POSIX. */
function oldCpioEntry(name: string, text = ""): Buffer {
  const octal = (value: number, length: number): string => value.toString(8).padStart(length, "0")
  return Buffer.from(
    `070707${octal(0, 42)}${octal(0, 11)}${octal(name.length + 1, 6)}${octal(text.length, 11)}${name}\0${text}`,
  )
}

/** An archive of ar; contents are padded to an even length. */
function ar(members: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(members).map(
    ([name, text]) =>
      `${name.padEnd(16)}${"0".padEnd(32)}${String(text.length).padEnd(10)}\`\n${text}${text.length % 2 === 0 ? "" : "\n"}`,
  )
  return Buffer.from(`!<arch>\n${parts.join("")}`)
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
  await writeFile(at("a.tar.zst"), zstdCompressSync(tar))
  await writeFile(at("archive.bin"), gzipSync(tar))
  await writeFile(
    at("a.cpio"),
    Buffer.concat([cpioEntry("src/a.ts", "text"), cpioEntry(".envrc"), cpioEntry("TRAILER!!!")]),
  )
  await writeFile(
    at("odc.cpio"),
    Buffer.concat([oldCpioEntry("AGENTS.md", "text"), oldCpioEntry("b"), oldCpioEntry("TRAILER!!!")]),
  )
  await writeFile(at("a.a"), ar({ "//": "a-very-long-name.o/\n", "/0": "x", ".envrc/": "abc", "#1/8": "bsd.o\0\0\0" }))
  await writeFile(at("a.tar.xz"), Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4]))
  await writeFile(at("a.7z"), Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]))
  await writeFile(at("damaged.tgz"), Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]))
  const inTar = ["a.txt", long, "AGENTS.md", ".git/hooks/pre-commit"]
  const inDirectory = await containedNames({ path: at("tree"), isArchive: false }, FILES)
  const names = async (name: string): Promise<ContainedNames | undefined> => {
    const found = await containedNames({ path: at(name), isArchive: true }, FILES)
    return typeof found === "object" ? found.toSorted() : found
  }
  expect(inDirectory).toEqual([".vscode", "node_modules", ".vscode/tasks.json"])
  expect(await names("a.tar")).toEqual(inTar.toSorted())
  expect(await names("a.tgz")).toEqual(inTar.toSorted())
  expect(await names("cut.tar.gz")).toEqual(inTar.toSorted())
  expect(await names("a.zip")).toEqual([".envrc", "src/a.ts"])
  expect(await names("noise.zip")).toEqual([])
  expect(await names("noise.tar")).toBe("unreadable")
  expect(await names("file")).toEqual([])
  expect(await names("missing")).toBeUndefined()
  expect(await names("tree")).toBeUndefined()
  expect(await names("a.tar.zst")).toEqual(inTar.toSorted())
  expect(await names("archive.bin")).toEqual(inTar.toSorted())
  expect(await names("a.cpio")).toEqual([".envrc", "src/a.ts"])
  expect(await names("odc.cpio")).toEqual(["AGENTS.md", "b"])
  expect(await names("a.a")).toEqual([".envrc", "a-very-long-name.o", "bsd.o"])
  expect(await names("a.tar.xz")).toBe("unreadable")
  expect(await names("a.7z")).toBe("unreadable")
  expect(await names("damaged.tgz")).toBe("unreadable")
  expect(await names("[ac]*.zip")).toEqual([".envrc", "src/a.ts"])
  expect(await names("*.xz")).toBe("unreadable")
  expect(await names("*.none")).toEqual([])
  expect(await containedNames({ path: at("file"), isArchive: false }, FILES)).toBeUndefined()
})
