package dev.nimble.benchmarks.cli;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import dev.nimble.benchmarks.models.SentenceEmbedding;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nimble similarity}: MiniLM end to end, from sentences to cosines. */
@Command(
    name = "similarity",
    mixinStandardHelpOptions = true,
    description = "Embeds sentences with MiniLM and prints how alike each is to the first.")
final class SimilarityCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(arity = "2..*", paramLabel = "SENTENCE", description = "Two sentences or more.")
  private List<String> sentences = List.of();

  @Override
  public Integer call() {
    try (HuggingFaceTokenizer tokenizer = SentenceEmbedding.tokenizer()) {
      float[] first = SentenceEmbedding.embed(tokenizer, sentences.get(0));
      for (String sentence : sentences.subList(1, sentences.size())) {
        float[] other = SentenceEmbedding.embed(tokenizer, sentence);
        spec.commandLine()
            .getOut()
            .printf("%.4f  %s%n", SentenceEmbedding.cosine(first, other), sentence);
      }
      spec.commandLine().getOut().flush();
    }
    return 0;
  }
}
