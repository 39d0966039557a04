// JNI: the Java tests' hold on the emulator.
#include <jni.h>

extern "C" const char* emu_command(const char* line);
extern "C" void emu_compile_folder(const char* path);

extern "C" JNIEXPORT jstring JNICALL
Java_dev_nimble_cuda_emulator_Emulator_send(JNIEnv* env, jclass, jstring line) {
  const char* text = env->GetStringUTFChars(line, nullptr);
  jstring answer = env->NewStringUTF(emu_command(text));
  env->ReleaseStringUTFChars(line, text);
  return answer;
}

extern "C" JNIEXPORT void JNICALL
Java_dev_nimble_cuda_emulator_Emulator_compileIn(JNIEnv* env, jclass, jstring folder) {
  const char* text = env->GetStringUTFChars(folder, nullptr);
  emu_compile_folder(text);
  env->ReleaseStringUTFChars(folder, text);
}
