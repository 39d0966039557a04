package dev.nimble.planted.graph;

/** Imports nothing. */
public final class Innocent {
  private Innocent() {}
}
