import type { DatabasePages } from "./database-pages.ts"
import { readFreePages } from "./free-pages.ts"
import { decodeRecord } from "./record.ts"
import { childPages, leafRows, tablePageKind } from "./table-page.ts"

export interface CatalogueEntry {
  readonly type: string
  readonly name: string
  readonly sql: string
}

/** Which table each page with rows belongs to. */
export interface PageSurvey {
  /** What is left of the catalogue, in the order of its rows. */
  readonly catalogue: readonly CatalogueEntry[]
  /** The readable leaf pages that can be reached from the root page of the table. */
  readonly leavesOf: (table: string) => Iterable<number>
  /** False when a page of the table is lost, so that pages below it are among `unreachable`. */
  readonly isComplete: (table: string) => boolean
  /** Leaf pages that no table reaches and that are not on the list of free pages, if that can be read. */
  readonly unreachable: () => Iterable<number>
}

const FREE = 1
const OTHER = 2
const LEAF = 3
const INTERIOR = 4

const NO_TABLE = 0
const CATALOGUE = 1
const CATALOGUE_ROOT = 1

/** Reads every page once. Needs three bytes of memory for each. */
export function surveyPages(pages: DatabasePages): PageSurvey {
  const kinds = classify(pages)
  const owners = new Uint16Array(pages.pageCount + 1)
  const walk = (root: number, owner: number): boolean => markTree(pages, { kinds, owners, root, owner })

  const isCatalogueComplete = walk(CATALOGUE_ROOT, CATALOGUE)
  const entries = [...leaves(kinds, owners, CATALOGUE)].flatMap((page) => [...catalogueRows(pages, page)])
  if (!isCatalogueComplete) {
    for (const page of leaves(kinds, owners, NO_TABLE))
      if (startsWithEntry(pages, page)) entries.push(...catalogueRows(pages, page))
  }
  const tables = new Map<string, { readonly owner: number; readonly isComplete: boolean }>()
  for (const { type, name, root } of entries) {
    if (type !== "table" || root < 2 || tables.has(name)) continue
    const owner = CATALOGUE + 1 + tables.size
    tables.set(name, { owner, isComplete: walk(root, owner) })
  }
  return {
    catalogue: entries,
    leavesOf: (table) => leaves(kinds, owners, tables.get(table)?.owner),
    isComplete: (table) => tables.get(table)?.isComplete === true,
    unreachable: () => leaves(kinds, owners, NO_TABLE),
  }
}

function classify(pages: DatabasePages): Uint8Array {
  const kinds = new Uint8Array(pages.pageCount + 1).fill(OTHER)
  const free = readFreePages(pages) ?? new Set<number>()
  for (let number = 1; number <= pages.pageCount; number += 1) {
    const page = free.has(number) ? undefined : pages.read(number)
    const kind = page === undefined ? undefined : tablePageKind(page, number)
    if (kind !== undefined) kinds[number] = kind === "leaf" ? LEAF : INTERIOR
    else if (free.has(number)) kinds[number] = FREE
  }
  return kinds
}

interface Tree {
  readonly kinds: Uint8Array
  readonly owners: Uint16Array
  readonly root: number
  readonly owner: number
}

/** Marks the pages of a table. Returns whether all of them were found. */
function markTree(pages: DatabasePages, { kinds, owners, root, owner }: Tree): boolean {
  let isComplete = true
  const waiting = [root]
  for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
    const kind = kinds[number]
    const page = kind === INTERIOR ? pages.read(number) : undefined
    if ((kind !== LEAF && page === undefined) || owners[number] !== NO_TABLE) {
      isComplete = false
      continue
    }
    owners[number] = owner
    if (page !== undefined) waiting.push(...childPages(page, number))
  }
  return isComplete
}

function* leaves(kinds: Uint8Array, owners: Uint16Array, owner: number | undefined): Generator<number, void, void> {
  if (owner === undefined) return
  for (let number = 1; number < kinds.length; number += 1) {
    if (kinds[number] === LEAF && owners[number] === owner) yield number
  }
}

interface RootedEntry extends CatalogueEntry {
  readonly root: number
}

function* catalogueRows(pages: DatabasePages, page: number): Generator<RootedEntry, void, void> {
  for (const { record } of leafRows(pages, page)) {
    const entry = catalogueEntry(record)
    if (entry !== undefined) yield entry
  }
}

function startsWithEntry(pages: DatabasePages, page: number): boolean {
  const first = leafRows(pages, page).next()
  return first.done !== true && catalogueEntry(first.value.record) !== undefined
}

/** A row of `sqlite_master`: type, name, table, root page and statement. */
function catalogueEntry(record: Buffer): RootedEntry | undefined {
  const values = decodeRecord(record)
  if (values?.length !== 5) return undefined
  const [type, name, , root, sql] = values
  if (typeof type !== "string" || !TYPES.has(type) || typeof name !== "string" || typeof root !== "bigint")
    return undefined
  return typeof sql === "string" && /^CREATE /i.test(sql) ? { type, name, sql, root: Number(root) } : undefined
}

const TYPES: ReadonlySet<string> = new Set(["table", "index", "trigger", "view"])
