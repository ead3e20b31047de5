import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { fc } from "../../../test/support/property.ts"
import { porterStem } from "./porter-stem.ts"

test.each([
  ["caresses", "caress"],
  ["ponies", "poni"],
  ["cats", "cat"],
  ["agreed", "agre"],
  ["plastered", "plaster"],
  ["motoring", "motor"],
  ["sing", "sing"],
  ["hopping", "hop"],
  ["hoping", "hope"],
  ["falling", "fall"],
  ["relational", "relat"],
  ["deployments", "deploy"],
  ["configuration", "configur"],
  ["happy", "happi"],
  ["sky", "sky"],
  ["adjustment", "adjust"],
  ["controlling", "control"],
  ["is", "is"],
  ["c3po", "c3po"],
  ["größe", "größe"],
])("%s has the stem %s", (word, stem) => {
  expect(porterStem(word)).toBe(stem)
})

test("stems equal those of SQLite's Porter tokenizer", () => {
  const db = new DatabaseSync(":memory:")
  try {
    db.exec("CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'porter ascii')")
    db.exec("CREATE VIRTUAL TABLE terms USING fts5vocab(words, 'row')")
    const insert = db.prepare("INSERT INTO words(word) VALUES (?)")
    const read = db.prepare("SELECT term FROM terms")
    const syllable = fc.constantFrom("de", "ploy", "con", "fig", "ra", "hop", "sky", "yes", "ll", "tt", "at", "ab", "u")
    const ending = fc.constantFrom("", "s", "ed", "ing", "ies", "ational", "izer", "fulness", "ement", "ion", "y", "e")
    fc.assert(
      fc.property(fc.array(syllable, { minLength: 1, maxLength: 3 }), ending, (syllables, last) => {
        const word = syllables.join("") + last
        db.exec("DELETE FROM words")
        insert.run(word)
        expect([word, porterStem(word)]).toEqual([word, String(read.get()?.["term"])])
      }),
      { numRuns: 2000 },
    )
  } finally {
    db.close()
  }
})
