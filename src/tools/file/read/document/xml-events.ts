export type XmlEvent =
  | { readonly kind: "open"; readonly name: string; readonly attributes: (name: string) => string | undefined }
  | { readonly kind: "close"; readonly name: string }
  | { readonly kind: "text"; readonly text: string }

/**
 * Parses the XML of office documents. Knows only the five predefined entities, fetches nothing, and refuses a document type
 * declaration, which could declare others. An empty element yields both of its events.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent, void, void> {
  let at = 0
  while (at < xml.length) {
    const tag = xml.indexOf("<", at)
    if (tag === -1) {
      yield { kind: "text", text: unescapeXml(xml.slice(at)) }
      return
    }
    if (tag > at) yield { kind: "text", text: unescapeXml(xml.slice(at, tag)) }
    if (xml.startsWith("<![CDATA[", tag)) {
      const end = endOf(xml, "]]>", tag)
      yield { kind: "text", text: xml.slice(tag + 9, end - 3) }
      at = end
    } else if (xml.startsWith("<!--", tag)) at = endOf(xml, "-->", tag)
    else if (xml.startsWith("<?", tag)) at = endOf(xml, "?>", tag)
    else if (xml.startsWith("<!", tag))
      throw new Error("the document has a document type declaration, which is not supported")
    else {
      at = endOf(xml, ">", tag)
      yield* tagEvents(xml.slice(tag + 1, at - 1))
    }
  }
}

function endOf(xml: string, mark: string, from: number): number {
  const found = xml.indexOf(mark, from)
  if (found === -1) throw new Error("the document ends inside a tag")
  return found + mark.length
}

function* tagEvents(tag: string): Generator<XmlEvent, void, void> {
  if (tag.startsWith("/")) {
    yield { kind: "close", name: tag.slice(1).trim() }
    return
  }
  const isEmpty = tag.endsWith("/")
  const inner = isEmpty ? tag.slice(0, -1) : tag
  const gap = inner.search(/\s/)
  const name = gap === -1 ? inner : inner.slice(0, gap)
  yield { kind: "open", name, attributes: (wanted) => attribute(inner, wanted) }
  if (isEmpty) yield { kind: "close", name }
}

/** The standard allows `>` in attribute values, but these formats do not use it; it would cost a cell at worst. */
function attribute(tag: string, wanted: string): string | undefined {
  for (const [, name, double, single] of tag.matchAll(/\s([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
    if (name === wanted) return unescapeXml(double ?? single ?? "")
  }
  return undefined
}

function unescapeXml(text: string): string {
  if (!text.includes("&")) return text
  return text.replaceAll(
    /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(lt|gt|amp|quot|apos));/g,
    (whole, hex, decimal, name) => {
      if (typeof name === "string") return NAMED[name] ?? whole
      const point = typeof hex === "string" ? Number.parseInt(hex, 16) : Number(decimal)
      return point > 0 && point <= 0x10_ffff ? String.fromCodePoint(point) : "\u{FFFD}"
    },
  )
}

const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }
