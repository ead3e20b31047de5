import type { LanguageFn } from "highlight.js"
import bash from "highlight.js/lib/languages/bash"
import c from "highlight.js/lib/languages/c"
import cpp from "highlight.js/lib/languages/cpp"
import csharp from "highlight.js/lib/languages/csharp"
import css from "highlight.js/lib/languages/css"
import diff from "highlight.js/lib/languages/diff"
import dockerfile from "highlight.js/lib/languages/dockerfile"
import go from "highlight.js/lib/languages/go"
import ini from "highlight.js/lib/languages/ini"
import java from "highlight.js/lib/languages/java"
import javascript from "highlight.js/lib/languages/javascript"
import json from "highlight.js/lib/languages/json"
import kotlin from "highlight.js/lib/languages/kotlin"
import lua from "highlight.js/lib/languages/lua"
import makefile from "highlight.js/lib/languages/makefile"
import markdown from "highlight.js/lib/languages/markdown"
import php from "highlight.js/lib/languages/php"
import powershell from "highlight.js/lib/languages/powershell"
import python from "highlight.js/lib/languages/python"
import ruby from "highlight.js/lib/languages/ruby"
import rust from "highlight.js/lib/languages/rust"
import sql from "highlight.js/lib/languages/sql"
import swift from "highlight.js/lib/languages/swift"
import typescript from "highlight.js/lib/languages/typescript"
import xml from "highlight.js/lib/languages/xml"
import yaml from "highlight.js/lib/languages/yaml"

export interface Grammar {
  readonly define: LanguageFn
  /** Other names of the language, and file extensions. */
  readonly aliases: readonly string[]
}

/** The languages of code blocks. A grammar is compiled when its language occurs for the first time. */
export const GRAMMARS: Readonly<Record<string, Grammar>> = {
  bash: { define: bash, aliases: ["sh", "shell", "zsh", "console", "shell-session", "fish"] },
  c: { define: c, aliases: ["h"] },
  cpp: { define: cpp, aliases: ["c++", "cc", "cxx", "hpp"] },
  csharp: { define: csharp, aliases: ["cs", "c#"] },
  css: { define: css, aliases: ["scss", "less"] },
  diff: { define: diff, aliases: ["patch"] },
  dockerfile: { define: dockerfile, aliases: ["docker"] },
  go: { define: go, aliases: ["golang"] },
  ini: { define: ini, aliases: ["toml", "conf", "properties", "env"] },
  java: { define: java, aliases: [] },
  javascript: { define: javascript, aliases: ["js", "jsx", "mjs", "cjs", "node"] },
  json: { define: json, aliases: ["jsonc", "json5", "jsonl"] },
  kotlin: { define: kotlin, aliases: ["kt", "kts"] },
  lua: { define: lua, aliases: [] },
  makefile: { define: makefile, aliases: ["make", "mk"] },
  markdown: { define: markdown, aliases: ["md"] },
  php: { define: php, aliases: [] },
  powershell: { define: powershell, aliases: ["ps1", "pwsh"] },
  python: { define: python, aliases: ["py", "python3"] },
  ruby: { define: ruby, aliases: ["rb"] },
  rust: { define: rust, aliases: ["rs"] },
  sql: { define: sql, aliases: ["sqlite", "postgresql", "mysql"] },
  swift: { define: swift, aliases: [] },
  typescript: { define: typescript, aliases: ["ts", "tsx", "mts", "cts"] },
  xml: { define: xml, aliases: ["html", "svg", "vue", "xhtml"] },
  yaml: { define: yaml, aliases: ["yml"] },
}
