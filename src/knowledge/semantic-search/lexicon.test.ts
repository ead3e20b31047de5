import { describe, expect, test } from "vitest"
import { parseConcepts } from "./concepts.ts"
import { createLexicon, fieldTerm } from "./lexicon.ts"
import { SYNONYM_GROUPS } from "./synonym-groups.ts"
import { termsOf } from "./terms.ts"
import { FIELD_GROUPS, SEMANTIC_FIELDS } from "./semantic-fields.ts"

const lexicon = createLexicon()

describe("the word lists", () => {
  test("every phrase of a synonym group has all others as synonyms", () => {
    const groups = SYNONYM_GROUPS.map((group) => group.split(",").map((phrase) => termsOf(phrase)))
    const isComplete = (phrase: readonly string[], group: readonly (readonly string[])[]): boolean => {
      const found = new Set([phrase, ...lexicon.synonymsOf(phrase)].map((terms) => terms.join(" ")))
      return phrase.length > 0 && group.every((other) => found.has(other.join(" ")))
    }
    expect(groups.filter((group) => !group.every((phrase) => isComplete(phrase, group)))).toEqual([])
  })

  test("field groups contain only existing fields", () => {
    const members = Object.values(FIELD_GROUPS).flatMap((names) => names.split(" "))
    expect(members.filter((name) => !Object.hasOwn(SEMANTIC_FIELDS, name))).toEqual([])
  })

  test("field names are valid index terms", () => {
    const names = [...Object.keys(SEMANTIC_FIELDS), ...Object.keys(FIELD_GROUPS)]
    expect(names.filter((name) => !/^[a-z]+$/.test(name))).toEqual([])
  })
})

test("a text is indexed under its words and their semantic fields, sentence by sentence", () => {
  expect(lexicon.indexTerms("Grandma bakes. 7 cats!")).toEqual([
    "grandma",
    "bake",
    fieldTerm("family"),
    fieldTerm("cooking"),
    fieldTerm("allpeople"),
    fieldTerm("allhome"),
    fieldTerm("allfood"),
    ".",
    "7",
    "cat",
    fieldTerm("number"),
    fieldTerm("animals"),
    fieldTerm("allhome"),
  ])
})

test.each([
  ["hypertenison", ["hypertens"]],
  ["hosptial", ["hospit"]],
  ["lnadlord", ["landlord"]],
  ["client", []],
  ["zzyzx", []],
  ["cat", []],
])("the spelling corrections of %s are %j", (word, terms) => {
  expect(lexicon.spellingCorrections(word)).toEqual(terms)
})

test("a phrase of the query is one concept with its synonyms", () => {
  const concepts = parseConcepts("pull request", lexicon)
  expect(concepts.map(({ forms }) => forms.slice(0, 4))).toEqual([
    [
      { terms: ["pull", "request"], quality: 1 },
      { terms: ["pr"], quality: 0.7 },
      { terms: ["merg", "request"], quality: 0.7 },
      { terms: ["mr"], quality: 0.7 },
    ],
  ])
})

test("question words add semantic fields, and a repeated word counts once", () => {
  expect(parseConcepts("when? where? zyx zyx", lexicon)).toEqual([
    { word: "zyx", forms: [{ terms: ["zyx"], quality: 1 }] },
    { forms: ["place", "residence"].map((field) => ({ terms: [fieldTerm(field)], quality: 0.25 })) },
    { forms: ["time", "date", "weekday"].map((field) => ({ terms: [fieldTerm(field)], quality: 0.25 })) },
  ])
})

test("only the first concepts of a pasted text are used", () => {
  const words = Array.from({ length: 500 }, (_, index) => `w${index}`).join(" ")
  expect(parseConcepts(words, lexicon)).toHaveLength(24)
})
