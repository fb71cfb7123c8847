; The kernel of kernel.rs as rust-cuda hands it to libnvvm: the instructions of `simt/src/rust_cuda`, by hand, in the text
; of LLVM 7.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@SUMS = internal addrspace(3) global [16 x i8] undef, align 16
@RUNGS_DYNAMIC_SHARED = external addrspace(3) global [0 x i128], align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.bar.warp.sync(i32)

define internal i32 @address(i8* %p) alwaysinline {
  %a = call i32 asm "{\0A.reg .u64 shared;\0Acvta.to.shared.u64 shared, $1;\0Acvt.u32.u64 $0, shared;\0A}", "=r,l"(i8* %p)
  ret i32 %a
}

define void @meets(i32* %data, i32 %data_len, i64* %cycles, i32 %cycles_len) {
  call void asm sideeffect "//.rungs.bounds meets $0 $1 $2 $3", "n,n,n,n"(i32 128, i32 0, i32 0, i32 0)
  %begun = call i64 asm sideeffect "mov.u64 $0, %clock64;", "=l"()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %t64 = zext i32 %t to i64
  %from = getelementptr i32, i32* %data, i64 %t64
  %value = load i32, i32* %from, align 4
  %dynamic = call i32 @address(i8* addrspacecast ([0 x i128] addrspace(3)* @RUNGS_DYNAMIC_SHARED to i8*))
  %at = shl i32 %t, 2
  %own = add i32 %dynamic, %at
  call void asm sideeffect "st.shared.u32 [$0], $1;", "r,r,~{memory}"(i32 %own, i32 %value)
  call void @llvm.nvvm.barrier0()
  %mirror = sub i32 127, %t
  %mirror_at = shl i32 %mirror, 2
  %other = add i32 %dynamic, %mirror_at
  %loaded = call i32 asm sideeffect "ld.shared.u32 $0, [$1];", "=r,r,~{memory}"(i32 %other)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %sum = call i32 asm sideeffect "redux.sync.add.u32 $0, $1, $2;", "=r,r,r"(i32 %loaded, i32 -1)
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %behind

write:
  %sums = call i32 @address(i8* addrspacecast (i8 addrspace(3)* getelementptr ([16 x i8], [16 x i8] addrspace(3)* @SUMS, i64 0, i64 0) to i8*))
  %warp = lshr i32 %t, 5
  %warp_at = shl i32 %warp, 2
  %place = add i32 %sums, %warp_at
  call void asm sideeffect "st.shared.u32 [$0], $1;", "r,r,~{memory}"(i32 %place, i32 %sum)
  br label %behind

behind:
  call void @llvm.nvvm.barrier0()
  store i32 %sum, i32* %from, align 4
  %ended = call i64 asm sideeffect "mov.u64 $0, %clock64;", "=l"()
  %passed = sub i64 %ended, %begun
  %to = getelementptr i64, i64* %cycles, i64 %t64
  store i64 %passed, i64* %to, align 8
  ret void
}

!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
!nvvm.annotations = !{!1}
!1 = !{void (i32*, i32, i64*, i32)* @meets, !"kernel", i32 1}
