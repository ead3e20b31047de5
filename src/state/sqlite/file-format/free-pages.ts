import type { DatabasePages } from "./database-pages.ts"

/** The pages that contain deleted data only. Undefined when the list of them is lost or contradicts itself. */
export function readFreePages(pages: DatabasePages): ReadonlySet<number> | undefined {
  const first = pages.hasHeader ? pages.read(1) : undefined
  if (first === undefined) return undefined
  let trunk = first.readUInt32BE(32)
  const count = first.readUInt32BE(36)
  const free = new Set<number>()
  const add = (page: number): boolean => {
    if (page < 2 || page > pages.pageCount || free.has(page)) return false
    free.add(page)
    return true
  }
  while (trunk !== 0) {
    const page = add(trunk) ? pages.read(trunk) : undefined
    const entries = page?.readUInt32BE(4) ?? 0
    if (page === undefined || 8 + 4 * entries > pages.usableSize) return undefined
    for (let index = 0; index < entries; index += 1) if (!add(page.readUInt32BE(8 + 4 * index))) return undefined
    trunk = page.readUInt32BE(0)
  }
  return free.size === count ? free : undefined
}
